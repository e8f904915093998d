// Runs a command of this program in a separate process, collects its output, and kills it if
// necessary.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::mcp {

/// A running command. It has no input and prints into pipes. It is killed when this process ends or
/// this object is destroyed.
class CommandRun {
 public:
  /// Starts this program with `arguments`, which exclude the program's name. Fails (kEnvironment)
  /// if no process can be started.
  static Result<CommandRun> Start(const std::vector<std::string>& arguments);
  CommandRun(CommandRun&& other) noexcept;
  CommandRun& operator=(CommandRun&& other) noexcept;
  ~CommandRun();

  /// Descriptors to poll; -1: at end of file.
  int out() const { return out_; }
  int err() const { return err_; }

  /// Reads the available output without waiting. Fails (kEnvironment) if the output exceeds the
  /// limit.
  Status Take();

  /// Returns nullopt until both pipes are at end of file. Then waits for the process and returns
  /// its exit code as a shell does.
  std::optional<int> ExitCode();

  std::string& printed() { return printed_; }
  std::string& remarks() { return remarks_; }
  std::chrono::steady_clock::time_point started() const { return started_; }

 private:
  CommandRun() = default;
  void End();

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  std::string printed_, remarks_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace headroom::mcp
