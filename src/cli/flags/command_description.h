// What the command line declares, for what is made of it: completions and manual pages.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
}

namespace headroom::cli {

/// A flag, or an argument by its position.
struct FlagDescription {
  std::vector<std::string> names = {};  ///< "-o", "--output"; of an argument, what it is called.
  std::string value = {};               ///< "FILE"; empty: it takes none.
  std::vector<std::string> words = {};  ///< Values that are known.
  std::string description = {};
  std::string group = {};
  bool is_list = false;    ///< It takes several.
  bool is_joined = false;  ///< Several may stand in one word, with commas between them.
  bool is_required = false;
  bool takes_others = false;  ///< Values beside its words.
};

struct CommandDescription {
  std::string name = {};  ///< "report", "data bench"; empty: of the program itself.
  std::string summary = {};
  std::vector<FlagDescription> arguments = {};
  std::vector<FlagDescription> flags = {};  ///< Those that help lists, by group.
  std::string footer = {};                  ///< Examples and more, as they are to be shown.
  bool takes_command = false;               ///< `-- COMMAND` may follow.
};

/// The program first, then its commands and theirs, in the order of their help.
///
/// @param app  the program's; not changed
std::vector<CommandDescription> DescribeCommands(CLI::App& app);

}  // namespace headroom::cli
