// A program and all that it starts, from its begin to its end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headroom {

struct ProgramRun {
  std::vector<std::string> arguments;  ///< The program first.
  /// Gets what it prints, errors, too, in pieces as they come. While it works, nothing else is
  /// seen.
  std::function<void(std::string_view)> take;
  /// Whether it shall end; asked several times a second.
  std::function<bool()> is_stopped;
};

/// Waits for the program's end and returns its exit code as a shell gives it. It reads nothing, and
/// has a process group of its own; what is left of that when it has ended is ended, too. Who is to
/// end gets SIGTERM, and SIGKILL 5 s later; of what prints on meanwhile, not all may be taken.
/// Fails (kUsage) where it cannot be started, or (kEnvironment) where the system has nothing left
/// for it.
Result<int> RunToEnd(const ProgramRun& run);

}  // namespace headroom
