#include "cli/man_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_description.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/output.h"

namespace headroom::cli {
namespace {

constexpr const char* kManExamples = R"(Examples:
  headroom man report | man -l -            one page
  headroom man --all /usr/local/share/man/man1

Exit codes: 0 fine; 2 usage; 4 cannot write.
)";

}  // namespace

ManCommand::ManCommand(CLI::App& parent) : program_(parent) {
  app_ = parent.add_subcommand("man", "The manual page of a command, for man(1)");
  app_->footer(kManExamples);
  std::vector<std::string_view> names;
  for (const CLI::App* command : parent.get_subcommands({})) names.push_back(command->get_name());
  app_->add_option("COMMAND", command_, "Whose page: report, data bench; without it, the program's")
      ->type_name("")
      ->check(Known(names));
  app_->add_option("--all", folder_, "Write all pages into a folder")->type_name("DIR");
}

Status ManCommand::Run() {
  const std::vector<CommandDescription> commands = DescribeCommands(program_);
  const auto page_of = [&](const CommandDescription& command) {
    return ManPage(commands, command, program_.version());
  };
  if (!folder_.empty()) {
    if (!command_.empty()) return Status::Usage("--all writes every page: leave COMMAND out");
    std::vector<NamedFile> pages;
    pages.reserve(commands.size());
    for (const CommandDescription& command : commands)
      pages.push_back({ManPageName(command) + ".1", page_of(command)});
    return WriteFolder(folder_, std::move(pages));
  }
  const std::string name = fmt::format("{}", fmt::join(command_, " "));
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandDescription& one) { return one.name == name; });
  if (found == commands.end()) {
    std::vector<std::string_view> names(commands.size());
    std::transform(
        commands.begin(), commands.end(), names.begin(),
        [](const CommandDescription& command) { return std::string_view(command.name); });
    const std::vector<std::string_view> near = NearNames(name, std::move(names));
    return Status::Usage(
        fmt::format("{}: no command of headroom; {}{}headroom --help lists them", name,
                    near.empty() ? "" : "did you mean ",
                    near.empty() ? "" : fmt::format("{}? ", fmt::join(near, ", "))));
  }
  return WriteResult(page_of(*found), "");
}

}  // namespace headroom::cli
