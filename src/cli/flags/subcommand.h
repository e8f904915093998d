// A subcommand, as main() needs it: its flags in the parser, and a way to run it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/command.h"

namespace headroom::cli {

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  /// The command with its flags. Its is_chosen() is true if the user named it.
  virtual Command command() const = 0;
  /// Takes the words after `--` on the command line. Returns true if the command uses them.
  /// Otherwise `--` only ends the flags.
  virtual bool TakeRest(const std::vector<std::string>&) { return false; }
  /// Requires parsed arguments. Prints the result. Returns a failure without printing it.
  virtual Status Run() = 0;
  /// Returns true if several processes of a launcher run this command together
  /// (cli/inputs/join_processes.h). Then only the first one prints.
  virtual bool shares_work() const { return false; }
  /// The program's exit code after Run() succeeds. If it is not 0, it also replaces the code of a
  /// failure.
  virtual int exit_code() const { return 0; }
};

}  // namespace headroom::cli
