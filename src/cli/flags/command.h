// Declares the commands of a program and their flags. The declarations make the parser, the help,
// the completions and the manual pages.
//
// The parser is CLI11. In src/, only command.cc includes CLI11, which adds ten seconds of compile
// time per file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/command_description.h"
#include "cli/flags/value_checks.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name.
class App;
class Option;
}  // namespace CLI

namespace headroom::cli {

/// Sets properties of a declared flag or argument. A handle: copies refer to the same flag.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  /// Sets the name of the value in the help, such as "FILE". "" shows only the argument's own name.
  Flag TypeName(const std::string& name) const;
  Flag Check(ValueCheck check) const;
  Flag Required() const;
  /// Shows the initial value of the target in brackets after the description.
  Flag ShowDefault() const;
  /// Sets the heading in the help. "" hides the flag.
  Flag Group(const std::string& heading) const;
  /// Accepts several values in one word, separated by `delimiter`.
  Flag Delimiter(char delimiter) const;
  /// Accepts the flag several times, with one value each time.
  Flag OneValueEach() const;
  /// Makes the value optional, with this default.
  Flag ValueOr(const std::string& value) const;
  /// Refuses the command line if this flag and `other` are both given.
  Flag Excludes(Flag other) const;

 private:
  CLI::Option* option_;
};

/// A command of the program, or the program itself. A handle: copies refer to the same command.
class Command {
 public:
  Command() = default;
  explicit Command(CLI::App* app) : app_(app) {}

  /// @param footer  end of the help, printed verbatim: examples and exit codes
  Command AddCommand(const std::string& name, const std::string& summary,
                     const std::string& footer) const;
  /// Requires that `target` outlives Parse(). T is one of the types at the end of command.cc.
  ///
  /// @param names  "-o,--output" for a flag, "TRACE" for a positional argument
  template <class T>
  Flag AddOption(const std::string& names, T& target, const std::string& description) const;
  Flag AddFlag(const std::string& names, bool& target, const std::string& description) const;
  /// Lists this command under the heading `task` in its parent's help.
  void SetGroup(const std::string& task) const;
  /// Refuses a command line without one of this command's subcommands.
  void RequireCommand() const;
  /// Leaves all words from the first non-flag on as another program's command line.
  void TakeCommandLine() const;

  // Returns true if the command line names this command. Requires that Parse() has run.
  bool is_chosen() const;
  bool is_given(const std::string& flag) const;
  /// Returns the words that belong to no flag and no argument.
  std::vector<std::string> remaining() const;

  std::string name() const;
  /// Returns the names of the command and its outer commands, such as "data bench"; empty for the
  /// program.
  std::string path() const;
  std::vector<std::string> command_names() const;
  std::optional<Command> FindCommand(std::string_view name) const;
  std::string Help() const;

 private:
  CLI::App* app_ = nullptr;
};

struct ParsedCommandLine {
  enum class Request { kRun, kHelp, kVersion, kRefused };

  Request request = Request::kRun;
  Command asked = {};      ///< The innermost command given, or the program.
  std::string wrong = {};  ///< The error; empty unless `request` is kRefused.
};

/// Returns the message for a word that names no command.
///
/// @param before  outer commands, with a space at the end: "data "; empty for the program
std::string NoSuchCommand(const std::string& before, std::string_view word,
                          const std::vector<std::string>& names);

/// The root of all commands.
class Program {
 public:
  /// @param help  returns the help of a command, given its description
  Program(const std::string& name, const std::string& summary, const std::string& version,
          const std::string& footer, std::function<std::string(const CommandDescription&)> help);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root() const { return Command(app_.get()); }
  const std::string& version() const { return version_; }
  /// Returns the program first, then all commands and subcommands in the order of the help.
  std::vector<CommandDescription> Describe() const;
  /// Sets the targets of the given flags. Call it only once.
  ParsedCommandLine Parse(std::vector<std::string> arguments) const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string version_;
};

}  // namespace headroom::cli
