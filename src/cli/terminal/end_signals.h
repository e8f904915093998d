// The signals that end a program which runs until it is told to stop.
#pragma once

#include <csignal>

#include "base/time.h"

namespace headroom::cli {

/// Holds SIGINT, SIGTERM and SIGHUP back while it lives, so that Wait() takes them in order.
class EndSignals {
 public:
  /// REQUIRES: before any thread is started, which inherits it.
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  /// Sleeps until one comes.
  void Wait() const;
  /// Sleeps until `deadline` on the monotonic clock; true: a signal came first.
  bool Wait(TimeNs deadline) const;

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace headroom::cli
