// Interface of a subcommand for main(): its flags in the parser, and a function that runs it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/command.h"

namespace headroom::cli {

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  /// Returns the command with its flags. is_chosen() of the command is true if the user named it.
  virtual Command command() const = 0;
  /// Takes the words after `--` on the command line. Returns true if the command uses them.
  /// Otherwise `--` only ends the flags.
  virtual bool TakeRest(const std::vector<std::string>&) { return false; }
  /// Requires parsed arguments. Prints the result. Returns a failure without printing it.
  virtual Status Run() = 0;
  /// Returns true if several processes of a launcher run this command together
  /// (cli/inputs/join_processes.h). Then only the first one prints.
  virtual bool shares_work() const { return false; }
  /// Returns the program's exit code after Run() succeeds. A code other than 0 also replaces the
  /// code of a failure.
  virtual int exit_code() const { return 0; }
};

}  // namespace headroom::cli
