// The commands of a program and their flags. What is declared here makes the parser, the help, the
// completions and the manual pages.
//
// CLI11 parses. In src/, only command.cc includes it: each file that does takes ten seconds more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/command_description.h"
#include "cli/flags/value_checks.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
class Option;
}  // namespace CLI

namespace headroom::cli {

/// A declared flag or argument, to say more about it. A handle: copies are the same flag.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  /// The name of its value in help, such as "FILE"; "" for an argument that its own name explains.
  Flag TypeName(const std::string& name) const;
  Flag Check(ValueCheck check) const;
  Flag Required() const;
  /// The heading of its part of the help; "": help does not list it.
  Flag Group(const std::string& heading) const;
  /// Several values may stand in one word, with this character between them.
  Flag Delimiter(char delimiter) const;
  /// May be given several times, with one value each time.
  Flag OneValueEach() const;
  /// The value may be left out, and then is this one.
  Flag ValueOr(const std::string& value) const;
  /// Refuses the command line if this flag and `other` are both given.
  Flag Excludes(Flag other) const;

 private:
  CLI::Option* option_;
};

/// A command of the program, or the program itself. A handle: copies are the same command.
class Command {
 public:
  Command() = default;
  explicit Command(CLI::App* app) : app_(app) {}

  /// @param footer  of its help: examples and more, shown as they are
  Command AddCommand(const std::string& name, const std::string& summary,
                     const std::string& footer) const;
  /// Requires that `target` outlives the parsing. T is one of the types at the end of command.cc.
  ///
  /// @param names  "-o,--output"; an argument by its position: "TRACE"
  template <class T>
  Flag AddOption(const std::string& names, T& target, const std::string& description) const;
  Flag AddFlag(const std::string& names, bool& target, const std::string& description) const;
  /// One of its commands must be given.
  void RequireCommand() const;
  /// Takes another program's command line: the words from the first that is not a flag on.
  void TakeCommandLine() const;

  // After the parsing.
  /// Whether the user named this command.
  bool is_chosen() const;
  bool is_given(const std::string& flag) const;
  /// The words that no flag and no argument took.
  std::vector<std::string> remaining() const;

  std::string name() const;
  /// "data bench", without the program's name; empty for the program.
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
  Command asked = {};      ///< The innermost command that the user named, or the program.
  std::string wrong = {};  ///< Of kRefused: what is wrong.
};

/// The message for a word that names no command.
///
/// @param before  the commands around it, with a blank behind them: "data "
std::string NoSuchCommand(const std::string& before, std::string_view word,
                          const std::vector<std::string>& names);

/// The root of all commands.
class Program {
 public:
  /// @param help  makes the help of a command from what was declared
  Program(const std::string& name, const std::string& summary, const std::string& version,
          const std::string& footer, std::function<std::string(const CommandDescription&)> help);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root() const { return Command(app_.get()); }
  const std::string& version() const { return version_; }
  /// The program first, then its commands and theirs, in the order of their help.
  std::vector<CommandDescription> Describe() const;
  /// Sets the targets of the flags that are given. To be called once.
  ParsedCommandLine Parse(std::vector<std::string> arguments) const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string version_;
};

}  // namespace headroom::cli
