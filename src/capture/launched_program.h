// The recorded program: starts it as the user's shell would, waits for it, and passes signals on.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// During its lifetime, signals that would end this process wait for LaunchedProgram::Wait().
/// Requires construction before any thread, which inherits the mask.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

/// Environment variables that differ from this process's; nullopt removes one.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

struct LaunchOptions {
  EnvironmentChanges environment = {};
  /// Receives the program's output and errors. The program then has no input and inherits no other
  /// descriptor. -1: it inherits all descriptors.
  int output = -1;
  /// Starts the program in a new process group: the terminal's signals do not reach it, and all its
  /// children can be ended.
  bool own_group = false;
};

class LaunchedProgram {
 public:
  /// Starts `arguments[0]`, looked up in PATH, with this process's environment. Fails with kUsage
  /// if it cannot be started.
  static Result<LaunchedProgram> Start(const std::vector<std::string>& arguments,
                                       const LaunchOptions& options);

  /// Returns 0 if `program` can be started, else the errno that Start() would meet. Lets the caller
  /// check before it replaces files.
  static int Find(const std::string& program);

  pid_t pid() const { return pid_; }

  /// Waits for the program's end. Returns the exit code as a shell does: 128 + N after signal N.
  /// REQUIRES: signals are held.
  ///
  /// SIGINT, SIGQUIT and SIGHUP of the terminal reach the program directly. Those sent to this
  /// process alone are passed on, as are SIGTERM, SIGUSR1 and SIGUSR2.
  int Wait() const;

  /// Returns the same exit code to the first caller after the program has ended; else nullopt. Does
  /// not block.
  std::optional<int> ExitCode() const;

  /// Returns the exit code of a shell after Start() failed with this errno.
  static int ShellCode(int error);

 private:
  explicit LaunchedProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace headroom
