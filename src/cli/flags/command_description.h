// What the command line declares, for what is made of it: help, completions and manual pages.
#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

/// A flag, or an argument by its position.
struct FlagDescription {
  std::vector<std::string> names = {};  ///< "-o", "--output"; the name of an argument.
  std::string value = {};               ///< The name of its value: "FILE".
  bool takes_value = false;
  std::vector<std::string> words = {};  ///< Values that are known.
  std::string description = {};
  std::string group = {};
  bool is_list = false;    ///< It takes several.
  bool is_joined = false;  ///< Several may stand in one word, with commas between them.
  bool is_required = false;
  bool takes_others = false;  ///< Values beside its words.
};

struct CommandDescription {
  std::string name = {};  ///< "report", "data bench"; empty: the program itself.
  std::string summary = {};
  std::vector<FlagDescription> arguments = {};
  std::vector<FlagDescription> flags = {};  ///< Those that help lists, group by group.
  std::vector<std::string> commands = {};   ///< Names of the commands below this one.
  std::vector<std::string> summaries = {};  ///< Their summaries, in the same order.
  std::string footer = {};                  ///< Examples and more, shown as they are.
  bool takes_command = false;               ///< `-- COMMAND` may follow.
};

}  // namespace headroom::cli
