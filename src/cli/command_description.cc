#include "cli/command_description.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

namespace headroom::cli {
namespace {

/// What OneOf() and Known() name their checks by.
std::vector<std::string> WordsOf(CLI::Option& option) {
  std::string words;
  try {
    words = option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('|', begin), words.size());
    found.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

FlagDescription Describe(CLI::Option& option) {
  FlagDescription flag{.description = option.get_description(), .group = option.get_group()};
  if (option.get_positional()) flag.names.push_back(option.get_name(/*positional=*/true));
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_expected_max() > 0) flag.value = option.get_type_name();
  flag.words = WordsOf(option);
  if (!flag.words.empty() && flag.words.back() == "...") {
    flag.takes_others = true;
    flag.words.pop_back();
  }
  flag.is_list = option.get_expected_max() > 1;
  flag.is_joined = option.get_delimiter() == ',' || option.get_type_name().ends_with(",...");
  flag.is_required = option.get_required();
  return flag;
}

void Add(CLI::App& app, const std::string& name, std::vector<CommandDescription>& commands) {
  CommandDescription command{.name = name,
                             .summary = app.get_description(),
                             .footer = app.get_footer(),
                             .takes_command = app.get_prefix_command()};
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional()) command.arguments.push_back(Describe(*option));
  }
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;  // Hidden.
    for (CLI::Option* option : app.get_options()) {
      if (option->nonpositional() && option->get_group() == group)
        command.flags.push_back(Describe(*option));
    }
  }
  commands.push_back(std::move(command));
  for (CLI::App* inner : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!inner->get_name().empty())
      Add(*inner, name.empty() ? inner->get_name() : name + " " + inner->get_name(), commands);
  }
}

}  // namespace

std::vector<CommandDescription> DescribeCommands(CLI::App& app) {
  std::vector<CommandDescription> commands;
  Add(app, "", commands);
  return commands;
}

}  // namespace headroom::cli
