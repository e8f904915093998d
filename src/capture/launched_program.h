// Starts the recorded program as the user's shell would, waits for it and forwards signals.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// Blocks, during its lifetime, signals that would end this process. LaunchedProgram::Wait()
/// handles them. Must be constructed before any thread starts, because threads inherit the signal
/// mask.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

/// Changes to this process's environment, by variable; nullopt removes the variable.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

struct LaunchOptions {
  EnvironmentChanges environment = {};
  /// Descriptor for the program's stdout and stderr. The program's stdin is then /dev/null, and it
  /// inherits no other descriptor. -1: the program inherits all descriptors.
  int output = -1;
  /// Starts the program in a new process group. The terminal's signals then do not reach it, and
  /// the caller can end it with all its children.
  bool own_group = false;
};

class LaunchedProgram {
 public:
  /// Starts `arguments[0]`, looked up in PATH, with this process's environment. Fails with kUsage
  /// if the program cannot be started.
  static Result<LaunchedProgram> Start(const std::vector<std::string>& arguments,
                                       const LaunchOptions& options);

  /// Returns 0 if `program` can be started, else the errno with which Start() would fail. Lets the
  /// caller check before it replaces files.
  static int Find(const std::string& program);

  pid_t pid() const { return pid_; }

  /// Waits for the program's end. Returns the exit code as a shell does: 128 + N after signal N.
  /// REQUIRES: signals are held.
  ///
  /// Forwards SIGTERM, SIGUSR1 and SIGUSR2. Forwards SIGINT, SIGQUIT and SIGHUP only if a process
  /// sent them: those of the terminal reach the program directly.
  int Wait() const;

  /// Returns the exit code as Wait() does; nullopt while the program runs. Returns 1 if an earlier
  /// call has already collected the exit code. Does not block.
  std::optional<int> ExitCode() const;

  /// Returns a shell's exit code for a program that could not be started: 127 if not found, else
  /// 126.
  static int ShellCode(int error);

 private:
  explicit LaunchedProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace headroom
