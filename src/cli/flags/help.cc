#include "cli/flags/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "render/text_page.h"

namespace headroom::cli {
namespace {

/// Returns a name such as "-o, --output FILE".
std::string FlagName(const FlagDescription& flag) {
  const std::string names = fmt::format("{}", fmt::join(flag.names, ", "));
  return flag.takes_value ? fmt::format("{} {}", names, flag.value) : names;
}

void AddRow(TextPage& page, const std::string& name, const std::string& description) {
  constexpr std::size_t kNames = 26;
  page.Paragraph(fmt::format("  {:<{}}", name, kNames), description);
}

}  // namespace

std::string HelpText(const CommandDescription& command) {
  TextPage page({.charset = Charset::kAscii});
  page.Paragraph("", command.summary);
  page.Blank();
  std::string usage = command.name.empty() ? "headroom" : "headroom " + command.name;
  if (!command.commands.empty()) usage += " COMMAND ...";
  for (const FlagDescription& argument : command.arguments) {
    const std::string name =
        fmt::format("{}{}", argument.names.front(), argument.is_list ? "..." : "");
    usage += argument.is_required ? " " + name : fmt::format(" [{}]", name);
  }
  usage += command.takes_command ? " [FLAGS] -- COMMAND [ARGUMENT...]" : " [FLAGS]";
  page.Paragraph("Usage: ", usage);
  page.Blank();
  std::string task;
  for (std::size_t i = 0; i < command.commands.size(); ++i) {
    if (command.groups[i] != task) {
      task = command.groups[i];
      if (i > 0) page.Blank();
      page.Paragraph("", task + ":");
    }
    AddRow(page, command.commands[i], command.summaries[i]);
  }
  for (const FlagDescription& argument : command.arguments)
    AddRow(page, argument.names.front(), argument.description);
  std::string group;
  for (const FlagDescription& flag : command.flags) {
    if (flag.group != group) {
      group = flag.group;
      page.Blank();
      page.Paragraph("", group + ":");
    }
    AddRow(page, FlagName(flag), flag.description);
  }
  return fmt::format("{}\n{}", std::move(page).Take(), command.footer);
}

}  // namespace headroom::cli
