#include "cli/flags/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace headroom::cli {
namespace {

/// Escapes text for roff: the result contains no request or escape, and its hyphens can be copied.
std::string Roff(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  });
  return text;
}

std::string Spoken(const CommandDescription& command) {
  return command.name.empty() ? "headroom" : "headroom " + command.name;
}

/// Returns ".TP" and the term to the left of the description.
std::string Tag(const FlagDescription& flag) {
  std::string tag = ".TP\n";
  for (std::size_t i = 0; i < flag.names.size(); ++i)
    tag += fmt::format("{}\\fB{}\\fR", i == 0 ? "" : ", ", Roff(flag.names[i]));
  // The name of a positional argument already shows its value.
  if (!flag.value.empty() && flag.names.front().starts_with('-'))
    tag += fmt::format(" \\fI{}\\fR", Roff(flag.value));
  return tag + "\n";
}

std::string Entry(const FlagDescription& flag) {
  return fmt::format("{}{}\n", Tag(flag), Roff(flag.description));
}

bool IsInside(const CommandDescription& inner, const CommandDescription& outer) {
  if (inner.name.empty()) return false;
  return outer.name.empty() || inner.name.starts_with(outer.name + " ");
}

}  // namespace

std::string ManPageName(const CommandDescription& command) {
  std::string name = Spoken(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string ManPage(std::span<const CommandDescription> commands, const CommandDescription& command,
                    std::string_view program) {
  const std::string name = ManPageName(command);
  std::string page =
      fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n", Roff(Capitals(name)), Roff(program));
  page += fmt::format(".SH NAME\n{} \\- {}\n", Roff(name), Roff(command.summary));
  page += fmt::format(".SH SYNOPSIS\n.B {}\n", Roff(Spoken(command)));
  std::vector<const CommandDescription*> inner;
  for (const CommandDescription& one : commands) {
    if (IsInside(one, command)) inner.push_back(&one);
  }
  if (!inner.empty()) page += ".I COMMAND\n\\&...\n";
  for (const FlagDescription& argument : command.arguments) {
    page += fmt::format("{}\\fI{}\\fR{}{}\n", argument.is_required ? "" : "[",
                        Roff(argument.names.front()), argument.is_list ? "..." : "",
                        argument.is_required ? "" : "]");
  }
  page += "[\\fIFLAGS\\fR]\n";
  if (command.takes_command) page += "\\-\\- \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n";
  if (!inner.empty() || !command.arguments.empty()) page += ".SH DESCRIPTION\n";
  for (const FlagDescription& argument : command.arguments) page += Entry(argument);
  for (const CommandDescription* one : inner) {
    page += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", Roff(ManPageName(*one)), Roff(one->summary));
  }
  std::string group;
  for (const FlagDescription& flag : command.flags) {
    if (group.empty()) page += ".SH OPTIONS\n";
    if (flag.group != group) page += fmt::format(".SS {}\n", Roff(flag.group));
    group = flag.group;
    page += Entry(flag);
  }
  if (!command.footer.empty())
    page += fmt::format(".SH EXAMPLES AND EXIT CODES\n.nf\n{}\n.fi\n", Roff(command.footer));
  if (!command.name.empty()) page += ".SH SEE ALSO\n\\fBheadroom\\fR(1)\n";
  return page;
}

}  // namespace headroom::cli
