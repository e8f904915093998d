// What main() needs of a subcommand: its flags in the parser, and a way to run it.
#pragma once

#include "base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
}

namespace headroom::cli {

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  /// The parser's node; parsed() tells whether the user chose this one.
  virtual const CLI::App& app() const = 0;
  /// REQUIRES: the arguments are parsed. Prints the result; a failure is returned, not printed.
  virtual Status Run() = 0;
};

}  // namespace headroom::cli
