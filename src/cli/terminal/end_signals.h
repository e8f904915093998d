// Signals that end a program which runs until the user stops it.
#pragma once

#include <csignal>

#include "base/time.h"

namespace headroom::cli {

/// Blocks SIGINT, SIGTERM and SIGHUP during its lifetime, so that Wait() receives them in order.
class EndSignals {
 public:
  /// Requires that no thread was started, because threads inherit the mask.
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  /// Sleeps until a signal comes.
  void Wait() const;
  /// Sleeps until `deadline` on the monotonic clock. Returns true if a signal came first.
  bool Wait(TimeNs deadline) const;

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace headroom::cli
