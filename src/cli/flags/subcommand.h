// What main() needs of a subcommand: its flags in the parser, and a way to run it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/command.h"

namespace headroom::cli {

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  /// Its flags; is_chosen() tells whether the user named it.
  virtual Command command() const = 0;
  /// Takes what follows `--` on the command line; whether it has a use for it. Else `--` only ends
  /// the flags.
  virtual bool TakeRest(const std::vector<std::string>&) { return false; }
  /// REQUIRES: the arguments are parsed. Prints the result; a failure is returned, not printed.
  virtual Status Run() = 0;
  /// Returns whether several processes that a launcher started do this together
  /// (cli/inputs/join_processes.h): then the first alone speaks.
  virtual bool shares_work() const { return false; }
  /// What the program exits with once Run() is fine, or, unless 0, has failed.
  virtual int exit_code() const { return 0; }
};

}  // namespace headroom::cli
