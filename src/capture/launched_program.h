// The program that is recorded: started as the user's shell would, waited for, signals passed on.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// While it lives, signals that would end this process wait for LaunchedProgram::Wait(). Make it
/// before any thread, which inherits it.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

/// Variables that a program has otherwise than this process; nullopt: not at all.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

struct LaunchOptions {
  EnvironmentChanges environment = {};
  /// Takes what the program prints, errors, too; it then reads nothing, and has no other descriptor
  /// of ours. -1: it has all of ours.
  int output = -1;
  /// Not that of this process: the terminal's signals do not reach it, and all that it starts can
  /// be ended.
  bool own_group = false;
};

class LaunchedProgram {
 public:
  /// Starts `arguments[0]`, looked up in PATH, with this process's environment. Fails (kUsage)
  /// where it cannot be started.
  static Result<LaunchedProgram> Start(const std::vector<std::string>& arguments,
                                       const LaunchOptions& options);

  /// Whether `program` could be started, so that nothing is replaced for what cannot run: 0, or the
  /// errno that Start() would meet.
  static int Find(const std::string& program);

  pid_t pid() const { return pid_; }

  /// Waits for its end. SIGINT and SIGQUIT of the terminal reach the program by themselves; they,
  /// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on where they were sent to this process alone.
  /// Returns the exit code as a shell gives it: 128 + N after signal N. REQUIRES: signals are held.
  int Wait() const;

  /// The same exit code once it has ended, to who asks first; else nothing. Waits for nothing.
  std::optional<int> ExitCode() const;

  /// What a shell would exit with where Start() failed with this errno.
  static int ShellCode(int error);

 private:
  explicit LaunchedProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace headroom
