#include "cli/flags/man_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/flags/command_description.h"
#include "cli/flags/man_page.h"
#include "cli/flags/value_checks.h"
#include "cli/terminal/output.h"

namespace headroom::cli {
namespace {

constexpr const char* kManExamples = R"(Examples:
  headroom man report | man -l -            one page
  headroom man --all /usr/local/share/man/man1

Exit codes: 0 fine; 2 usage; 4 cannot write.
)";

}  // namespace

ManCommand::ManCommand(const Program& program) : program_(program) {
  command_ = program.root().AddCommand("man", "Print the manual page of a command", kManExamples);
  const std::vector<std::string> names = program.root().command_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  command_
      .AddOption("COMMAND", asked_,
                 "The command, such as report or data bench; without it, the program")
      .TypeName("")
      .Check(Known(known));
  command_.AddOption("--all", folder_, "Write all pages into a folder").TypeName("DIR");
}

Status ManCommand::Run() {
  const std::vector<CommandDescription> commands = program_.Describe();
  const auto page_of = [&](const CommandDescription& command) {
    return ManPage(commands, command, "headroom " + program_.version());
  };
  if (!folder_.empty()) {
    if (!asked_.empty()) return Status::Usage("--all writes all pages: leave out COMMAND");
    std::vector<NamedFile> pages;
    pages.reserve(commands.size());
    for (const CommandDescription& command : commands)
      pages.push_back({ManPageName(command) + ".1", page_of(command)});
    return WriteFolder(folder_, std::move(pages));
  }
  const std::string name = fmt::format("{}", fmt::join(asked_, " "));
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandDescription& one) { return one.name == name; });
  if (found == commands.end()) {
    std::vector<std::string_view> names(commands.size());
    std::transform(
        commands.begin(), commands.end(), names.begin(),
        [](const CommandDescription& command) { return std::string_view(command.name); });
    const std::vector<std::string_view> near = NearNames(name, std::move(names));
    return Status::Usage(
        fmt::format("{}: not a command of headroom; {}{}headroom --help lists the commands", name,
                    near.empty() ? "" : "did you mean ",
                    near.empty() ? "" : fmt::format("{}? ", fmt::join(near, ", "))));
  }
  return WriteResult(page_of(*found), "");
}

}  // namespace headroom::cli
