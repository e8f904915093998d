// A command of this program in a process of its own: what it prints, and its end, by force if it
// must be.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::mcp {

/// It reads nothing, prints into pipes, and dies with this process. It ends with this object.
class CommandRun {
 public:
  /// `arguments` follow the name of this program. Fails (kEnvironment) where no process can be had.
  static Result<CommandRun> Start(const std::vector<std::string>& arguments);
  CommandRun(CommandRun&& other) noexcept;
  CommandRun& operator=(CommandRun&& other) noexcept;
  ~CommandRun();

  /// Descriptors to wait for; -1: at its end.
  int out() const { return out_; }
  int err() const { return err_; }

  /// Takes what was printed; waits for nothing. Fails (kEnvironment) where that is more than any
  /// answer.
  Status Take();

  /// Exit code as a shell gives it, once both pipes are at their end; the process is then waited
  /// for.
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
