// Describes the declared command line, for the help, the completions and the manual pages.
#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

/// A flag or a positional argument.
struct FlagDescription {
  std::vector<std::string> names = {};  ///< "-o", "--output", or an argument's name.
  std::string value = {};  ///< Name of the value, such as "FILE"; empty without a value.
  bool takes_value = false;
  std::vector<std::string> words = {};  ///< Known values; empty if unknown.
  std::string description = {};
  std::string group = {};
  bool is_list = false;    ///< Takes several values.
  bool is_joined = false;  ///< Takes several values in one word, separated by commas.
  bool is_required = false;
  bool takes_others = false;  ///< Accepts values that are not in `words`, too.
};

struct CommandDescription {
  std::string name = {};  ///< "report", "data bench"; empty for the program.
  std::string summary = {};
  std::vector<FlagDescription> arguments = {};
  std::vector<FlagDescription> flags = {};  ///< The flags in the help, by group.
  std::vector<std::string> commands = {};   ///< Names of the subcommands.
  std::vector<std::string> summaries = {};  ///< Summaries of the subcommands.
  std::vector<std::string> groups = {};     ///< Tasks of the subcommands, such as "Look"; empty
                                            ///< without tasks.
  std::string footer = {};                  ///< Examples and exit codes, verbatim.
  bool takes_command = false;               ///< Accepts `-- COMMAND`.
};

}  // namespace headroom::cli
