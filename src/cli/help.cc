#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "report/text_page.h"

namespace headroom::cli {
namespace {

/// "-o, --output FILE".
std::string FlagName(const CLI::Option& option) {
  std::string name;
  for (char c : option.get_name(/*positional=*/false, /*all_options=*/true)) {
    name += c == ',' ? ", " : std::string(1, c);
  }
  return option.get_expected_max() == 0 ? name : fmt::format("{} {}", name, option.get_type_name());
}

/// A whole text as a number; nullopt: it is none, or none that is finite.
std::optional<double> NumberIn(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

void AddRow(TextPage& page, const std::string& name, const std::string& description) {
  constexpr std::size_t kNames = 26;
  page.Paragraph(fmt::format("  {:<{}}", name, kNames), description);
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  TextPage page(/*color=*/false, Charset::kAscii);
  page.Paragraph("", app->get_description());
  page.Blank();
  const std::vector<const CLI::App*> commands =
      app->get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
  const std::vector<const CLI::Option*> positionals =
      app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  std::string usage = app->get_name();
  for (const CLI::App* outer = app->get_parent(); outer != nullptr; outer = outer->get_parent())
    usage = fmt::format("{} {}", outer->get_name(), usage);
  if (!commands.empty()) usage += " COMMAND ...";
  for (const CLI::Option* positional : positionals) {
    usage += fmt::format(" {}{}", positional->get_name(true),
                         positional->get_expected_max() > 1 ? "..." : "");
  }
  usage += app->get_prefix_command() ? " [FLAGS] -- COMMAND [ARGUMENT...]" : " [FLAGS]";
  page.Paragraph("Usage: ", usage);
  page.Blank();
  for (const CLI::App* command : commands)
    AddRow(page, command->get_name(), command->get_description());
  for (const CLI::Option* positional : positionals) {
    AddRow(page, positional->get_name(true), positional->get_description());
  }
  for (const std::string& group : app->get_groups()) {
    const std::vector<const CLI::Option*> options =
        app->get_options([&](const CLI::Option* option) {
          return option->get_group() == group && option->nonpositional();
        });
    if (options.empty() || group.empty()) continue;  // Without a name: for other programs.
    page.Blank();
    page.Paragraph("", group + ":");
    for (const CLI::Option* option : options)
      AddRow(page, FlagName(*option), option->get_description());
  }
  return fmt::format("{}\n{}", std::move(page).Take(), app->get_footer());
}

CLI::Validator OneOf(std::vector<std::string> words) {
  const std::string name = fmt::format("{}", fmt::join(words, "|"));
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        const std::vector<std::string_view> near = NearNames(text, {words.begin(), words.end()});
        return fmt::format("{} is none of {}{}{}", text, fmt::join(words, ", "),
                           near.empty() ? "" : "; did you mean ", fmt::join(near, ", "));
      },
      "", name);
}

CLI::Validator Known(std::span<const std::string_view> words) {
  return CLI::Validator([](const std::string&) { return std::string(); }, "",
                        fmt::format("{}|...", fmt::join(words, "|")));
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("is empty") : std::string();
      },
      "");
}

CLI::Validator NameList() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool has_gap = text.empty() || text.front() == ',' || text.back() == ',' ||
                             text.find(",,") != std::string::npos;
        return has_gap ? fmt::format("'{}' has an empty name", text) : std::string();
      },
      "");
}

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](const std::string& text) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= least &&
            value <= most) {
          return std::string();
        }
        return fmt::format("{} is not a whole number from {} to {}", text, least, most);
      },
      "");
}

CLI::Validator Between(double least, double most) {
  return CLI::Validator(
      [=](const std::string& text) {
        const std::optional<double> number = NumberIn(text);
        if (number && *number >= least && *number <= most) return std::string();
        return fmt::format("{} is not a number from {} to {}", text, least, most);
      },
      "");
}

std::string AboveZero(const std::string& text) {
  const std::optional<double> number = NumberIn(text);
  return number && *number > 0 ? "" : text + " is not a number above 0";
}

}  // namespace headroom::cli
