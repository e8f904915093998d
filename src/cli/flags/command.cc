#include "cli/flags/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace headroom::cli {
namespace {

using HelpText = std::function<std::string(const CommandDescription&)>;

/// Returns "data bench", without the program's name; empty for the program.
std::string PathOf(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string outer = PathOf(*app.get_parent());
  return outer.empty() ? app.get_name() : outer + " " + app.get_name();
}

std::vector<const CLI::App*> CommandsBelow(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

/// Returns the known words of the option's ValueCheck.
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

constexpr std::string_view kNoGroup = "Subcommands";  ///< The parser's own name for the group.

FlagDescription Describe(CLI::Option& option) {
  FlagDescription flag{.description = option.get_description(), .group = option.get_group()};
  if (option.get_positional()) flag.names.push_back(option.get_name(/*positional=*/true));
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.takes_value = option.get_expected_max() > 0;
  if (flag.takes_value) flag.value = option.get_type_name();
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

CommandDescription Describe(CLI::App& app) {
  CommandDescription command{.name = PathOf(app),
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
  for (const CLI::App* inner : CommandsBelow(app)) {
    command.commands.push_back(inner->get_name());
    command.summaries.push_back(inner->get_description());
    const std::string& group = inner->get_group();
    command.groups.push_back(group == kNoGroup ? "" : group);
  }
  return command;
}

void DescribeAll(CLI::App& app, std::vector<CommandDescription>& commands) {
  commands.push_back(Describe(app));
  for (CLI::App* inner : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!inner->get_name().empty()) DescribeAll(*inner, commands);
  }
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(HelpText help) : help_(std::move(help)) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    // CLI11 lists non-const options only of a non-const App. Describe() changes nothing.
    return help_(Describe(*const_cast<CLI::App*>(app)));
  }

 private:
  HelpText help_;
};

/// Returns the error if `app` requires a command and the command line gives none; otherwise an
/// empty string.
std::string WrongCommand(const CLI::App& app) {
  const bool is_needed = app.get_parent() == nullptr || app.get_require_subcommand_min() > 0;
  if (!is_needed || !app.get_subcommands().empty()) return "";
  const std::string path = PathOf(app);
  const std::string before = path.empty() ? "" : path + " ";
  const std::vector<std::string> names = Command(const_cast<CLI::App*>(&app)).command_names();
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    // The program without arguments prints its help.
    return path.empty() ? ""
                        : fmt::format("{}requires a command: {}", before, fmt::join(names, ", "));
  }
  // The flag is unknown, so the next word may be its value.
  if (words.front().starts_with('-')) {
    return path.empty() ? ""
                        : fmt::format("{}{}: no such flag; a command comes first: {}", before,
                                      words.front(), fmt::join(names, ", "));
  }
  return NoSuchCommand(before, words.front(), names);
}

/// Returns the error for a flag that `app` of `program` does not have; empty for other errors.
std::string WrongFlag(const CLI::App& program, const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return "";
  for (const std::string& word : program.remaining(/*recurse=*/true)) {
    if (!word.starts_with("--")) continue;
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<std::string_view> near = NearNames(flag, {names.begin(), names.end()});
    return fmt::format("{}: no such flag{}{}", flag, near.empty() ? "" : "; did you mean ",
                       fmt::join(near, ", "));
  }
  return "";
}

}  // namespace

std::string NoSuchCommand(const std::string& before, std::string_view word,
                          const std::vector<std::string>& names) {
  if (before.empty() && word.find_first_of("./") != std::string_view::npos)
    return fmt::format("{}: no such command; for a trace: headroom report {}", word, word);
  const std::vector<std::string_view> near = NearNames(word, {names.begin(), names.end()});
  return near.empty() ? fmt::format("{}{}: no such command; the commands are {}", before, word,
                                    fmt::join(names, ", "))
                      : fmt::format("{}{}: no such command; did you mean {}", before, word,
                                    fmt::join(near, ", "));
}

Flag Flag::TypeName(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Flag Flag::Check(ValueCheck check) const {
  option_->check(CLI::Validator(std::move(check.wrong), "", std::move(check.words)));
  return *this;
}

Flag Flag::Required() const {
  option_->required();
  return *this;
}

Flag Flag::ShowDefault() const {
  option_->capture_default_str();
  option_->description(
      fmt::format("{} [{}]", option_->get_description(), option_->get_default_str()));
  option_->default_str("");  // CLI11 would use the string as the default of a missing value, but it
                             // is only for the help.
  return *this;
}

Flag Flag::Group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

Flag Flag::Delimiter(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Flag Flag::OneValueEach() const {
  option_->allow_extra_args(false);
  return *this;
}

Flag Flag::ValueOr(const std::string& value) const {
  option_->expected(0, 1)->default_str(value);
  return *this;
}

Flag Flag::Excludes(Flag other) const {
  option_->excludes(other.option_);
  return *this;
}

Command Command::AddCommand(const std::string& name, const std::string& summary,
                            const std::string& footer) const {
  CLI::App* const added = app_->add_subcommand(name, summary);
  added->footer(footer);
  return Command(added);
}

template <class T>
Flag Command::AddOption(const std::string& names, T& target, const std::string& description) const {
  return Flag(app_->add_option(names, target, description));
}

Flag Command::AddFlag(const std::string& names, bool& target,
                      const std::string& description) const {
  return Flag(app_->add_flag(names, target, description));
}

void Command::SetGroup(const std::string& task) const { app_->group(task); }

void Command::RequireCommand() const { app_->require_subcommand(1); }

void Command::TakeCommandLine() const { app_->prefix_command(); }

bool Command::is_chosen() const { return app_->parsed(); }

bool Command::is_given(const std::string& flag) const { return app_->count(flag) > 0; }

std::vector<std::string> Command::remaining() const { return app_->remaining(); }

std::string Command::name() const { return app_->get_name(); }

std::string Command::path() const { return PathOf(*app_); }

std::vector<std::string> Command::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : CommandsBelow(*app_)) names.push_back(command->get_name());
  return names;
}

std::optional<Command> Command::FindCommand(std::string_view name) const {
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_name() == name) return Command(command);
  }
  return std::nullopt;
}

std::string Command::Help() const { return app_->help(); }

Program::Program(const std::string& name, const std::string& summary, const std::string& version,
                 const std::string& footer, HelpText help)
    : app_(std::make_unique<CLI::App>(summary, name)), version_(version) {
  app_->set_version_flag("--version", name + " " + version, "Print the version");
  app_->set_help_flag("-h,--help", "Print this help");
  app_->formatter(std::make_shared<HelpFormatter>(std::move(help)));
  app_->require_subcommand(0, 1);
  app_->footer(footer);
}

Program::~Program() = default;

std::vector<CommandDescription> Program::Describe() const {
  std::vector<CommandDescription> commands;
  DescribeAll(*app_, commands);
  return commands;
}

namespace {

/// Returns the command that the first word names, or null.
CLI::App* CommandNamedBy(CLI::App& app, const std::string& word) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return command;
  }
  return nullptr;
}

/// Returns the first flag with an empty value ("--dir="), or an empty string. CLI11 would take the
/// next word as the value. Ignores the words of a program to record.
std::string FlagWithEmptyValue(const CLI::App* command, const std::vector<std::string>& arguments) {
  const bool starts_program = command != nullptr && command->get_prefix_command();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--" || (i > 0 && starts_program && !word.starts_with('-'))) break;
    if (word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1)
      return word.substr(0, word.size() - 1);
  }
  return {};
}

}  // namespace

ParsedCommandLine Program::Parse(std::vector<std::string> arguments) const {
  CLI::App* const named = arguments.empty() ? nullptr : CommandNamedBy(*app_, arguments.front());
  if (const std::string empty = FlagWithEmptyValue(named, arguments); !empty.empty()) {
    return {.request = ParsedCommandLine::Request::kRefused,
            .asked = Command(named == nullptr ? app_.get() : named),
            .wrong = empty + "=: the value is empty; give one, or leave out the flag"};
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 requires reverse order.
  const auto asked = [&] {
    CLI::App* innermost = app_.get();
    while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
    return innermost;
  };
  using Request = ParsedCommandLine::Request;
  try {
    app_->parse(arguments);
  } catch (const CLI::Success&) {
    // Only the program has --version. Every command has --help.
    const bool version = asked() == app_.get() && app_->get_help_ptr()->count() == 0;
    return {.request = version ? Request::kVersion : Request::kHelp, .asked = Command(asked())};
  } catch (const CLI::ParseError& error) {
    std::string wrong = WrongCommand(*asked());
    if (wrong.empty()) wrong = WrongFlag(*app_, *asked(), error);
    if (wrong.empty()) wrong = error.what();
    return {.request = Request::kRefused, .asked = Command(asked()), .wrong = std::move(wrong)};
  }
  return {.request = Request::kRun, .asked = Command(asked())};
}

#define HEADROOM_OPTION_TYPE(...) \
  template Flag Command::AddOption(const std::string&, __VA_ARGS__&, const std::string&) const
HEADROOM_OPTION_TYPE(std::string);
HEADROOM_OPTION_TYPE(std::vector<std::string>);
HEADROOM_OPTION_TYPE(std::pair<std::string, std::string>);
HEADROOM_OPTION_TYPE(int);
HEADROOM_OPTION_TYPE(std::int64_t);
HEADROOM_OPTION_TYPE(double);
HEADROOM_OPTION_TYPE(std::optional<int>);
HEADROOM_OPTION_TYPE(std::optional<std::int64_t>);
HEADROOM_OPTION_TYPE(std::optional<double>);
HEADROOM_OPTION_TYPE(std::vector<double>);
#undef HEADROOM_OPTION_TYPE

}  // namespace headroom::cli
