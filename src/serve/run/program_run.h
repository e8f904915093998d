// Runs a program and all processes that it starts, from start to end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headroom {

struct ProgramRun {
  std::vector<std::string> arguments;  ///< Starts with the program.
  /// Receives stdout and stderr in pieces as they arrive. Blocks the run while it works.
  std::function<void(std::string_view)> take;
  /// Returns true if the program must end; called several times per second.
  std::function<bool()> is_stopped;
};

/// Waits for the program's end and returns its exit code as a shell does. The program has no input
/// and a separate process group. When it ends, remaining processes of the group are ended too. A
/// process that must end gets SIGTERM, and SIGKILL after 5 s; some of its output from that time may
/// be lost. Fails (kUsage) if the program cannot start, or (kEnvironment) if the system lacks
/// resources.
Result<int> RunToEnd(const ProgramRun& run);

}  // namespace headroom
