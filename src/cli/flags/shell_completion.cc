#include "cli/flags/shell_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace headroom::cli {
namespace {

/// Returns true if a value may be a file. Other values are numbers, names, or lists of these.
bool MayBeFile(const FlagDescription& flag) {
  const std::string& kind = flag.value.empty() ? flag.names.front() : flag.value;
  for (const std::string_view file : {"FILE", "DIR", "PATH", "TRACE"}) {
    if (kind.find(file) != std::string::npos) return true;
  }
  return false;
}

bool TakesFiles(const CommandDescription& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(), MayBeFile);
}

/// Returns the words that can be arguments of the command.
std::vector<std::string> ArgumentWords(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const FlagDescription& argument : command.arguments)
    words.insert(words.end(), argument.words.begin(), argument.words.end());
  return words;
}

std::string Joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

bool IsLong(const std::string& name) { return name.starts_with("--"); }

/// Returns the text in single quotes, which all three shells read the same way.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Returns the commands that can come next, in the program or inside a command.
std::vector<std::string> InnerCommands(std::span<const CommandDescription> all,
                                       const CommandDescription& outer) {
  std::vector<std::string> names;
  const std::string prefix = outer.name.empty() ? "" : outer.name + " ";
  for (const CommandDescription& command : all) {
    if (command.name.empty() || !command.name.starts_with(prefix)) continue;
    const std::string rest = command.name.substr(prefix.size());
    if (!rest.empty() && rest.find(' ') == std::string::npos) names.push_back(rest);
  }
  return names;
}

/// Returns a name such as "_headroom_data_bench".
std::string FunctionOf(const CommandDescription& command) {
  std::string name = "_headroom_" + command.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

void AddBashCommand(std::span<const CommandDescription> all, const CommandDescription& command,
                    std::string& script) {
  script += fmt::format("    {})\n      case $before in\n", Quoted(command.name));
  std::vector<std::string> names, others;
  for (const FlagDescription& flag : command.flags) {
    for (const std::string& name : flag.names) names.push_back(name);
    if (flag.value.empty()) continue;
    if (flag.words.empty() && !MayBeFile(flag)) {
      others.insert(others.end(), flag.names.begin(), flag.names.end());
      continue;
    }
    script += fmt::format("        {})", fmt::join(flag.names, "|"));
    if (!flag.words.empty())
      script += fmt::format(" _headroom_words {};", Quoted(Joined(flag.words)));
    script += fmt::format("{} return ;;\n", MayBeFile(flag) ? " _headroom_files;" : "");
  }
  if (!others.empty()) script += fmt::format("        {}) return ;;\n", fmt::join(others, "|"));
  std::vector<std::string> inner = InnerCommands(all, command);
  for (const std::string& word : ArgumentWords(command)) inner.push_back(word);
  script += fmt::format(
      "      esac\n"
      "      if [[ $current == -* ]]; then _headroom_words {}; return; fi\n",
      Quoted(Joined(names)));
  if (!inner.empty()) script += fmt::format("      _headroom_words {}\n", Quoted(Joined(inner)));
  if (TakesFiles(command)) script += "      _headroom_files\n";
  script += "      ;;\n";
}

}  // namespace

std::string BashCompletion(std::span<const CommandDescription> commands) {
  std::string names;
  for (const CommandDescription& command : commands) {
    if (!command.name.empty()) names += fmt::format(" {}", Quoted(command.name));
  }
  // Completes a list of words at its last word. The words after `--` belong to another program.
  std::string script = fmt::format(
      R"(# Completes headroom in bash: source <(headroom completion bash)
_headroom_words() {{
  local list= last=$current
  if [[ $current == *,* ]]; then list=${{current%,*}}, last=${{current##*,}}; fi
  local word
  while read -r word; do COMPREPLY+=("$list$word"); done < <(compgen -W "$1" -- "$last")
}}
_headroom_files() {{
  local file
  compopt -o filenames 2>/dev/null
  while read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}}
_headroom() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= word i
  COMPREPLY=()
  current=${{current#[\"\']}}  # Bash quotes a quoted word again.
  # "--flag=value" comes as three words.
  if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    if [[ $word == -- ]]; then compopt -o default 2>/dev/null; return; fi
    local known
    for known in{}; do
      if [[ ${{command:+$command }}$word == "$known" ]]; then command=$known; break; fi
    done
  done
  case $command in
)",
      names);
  for (const CommandDescription& command : commands) AddBashCommand(commands, command, script);
  script += "  esac\n}\ncomplete -F _headroom headroom\n";
  return script;
}

namespace {

/// Escapes text inside the brackets and after the colons of _arguments.
std::string ZshEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Returns an action of _arguments.
std::string ZshFilesAndWords(const std::string& words) {
  return fmt::format("{{_alternative \"files:file:_files\" \"words:word:({})\"}}", words);
}

std::string ZshValue(const FlagDescription& flag) {
  if (flag.words.empty()) return MayBeFile(flag) ? "_files" : " ";
  const std::string words = Joined(flag.words);
  if (flag.is_joined) return fmt::format("_values -s , value {}", words);
  // A colon after a flag ends the action.
  return MayBeFile(flag) ? ZshEscaped(ZshFilesAndWords(words)) : fmt::format("({})", words);
}

std::string ZshFlag(const FlagDescription& flag, const std::string& name) {
  const std::string value =
      flag.value.empty() ? "" : fmt::format(":{}:{}", ZshEscaped(flag.value), ZshValue(flag));
  return Quoted(fmt::format("{}{}[{}]{}", flag.is_list ? "*" : "", name,
                            ZshEscaped(flag.description), value));
}

}  // namespace

std::string ZshCompletion(std::span<const CommandDescription> commands) {
  std::string script =
      "#compdef headroom\n# Completes headroom in zsh: a file _headroom in a folder of $fpath, "
      "or\n# source <(headroom completion zsh) after compinit\n";
  for (const CommandDescription& command : commands) {
    script += fmt::format("{}() {{\n  local line state\n  _arguments -C", FunctionOf(command));
    for (const FlagDescription& flag : command.flags) {
      for (const std::string& name : flag.names)
        script += fmt::format(" \\\n    {}", ZshFlag(flag, name));
    }
    const std::vector<std::string> inner = InnerCommands(commands, command);
    if (!inner.empty()) {
      script += " \\\n    '1: :->command' \\\n    '*:: :->arguments'";
    } else if (command.takes_command) {
      script += " \\\n    '*::command:_normal'";
    } else if (const std::vector<std::string> words = ArgumentWords(command); !words.empty()) {
      script += fmt::format(" \\\n    '*:word:{}'", TakesFiles(command)
                                                        ? ZshFilesAndWords(Joined(words))
                                                        : fmt::format("({})", Joined(words)));
    } else if (TakesFiles(command)) {
      script += " \\\n    '*:file:_files'";
    } else if (!command.arguments.empty()) {
      script += " \\\n    '*: : '";  // Without it, zsh completes no flag after another.
    }
    script += "\n";
    if (!inner.empty()) {
      script += "  case $state in\n    command)\n      local -a commands=(\n";
      for (const std::string& name : inner) {
        const std::string whole = command.name.empty() ? name : command.name + " " + name;
        const auto described = std::find_if(commands.begin(), commands.end(),
                                            [&](const auto& one) { return one.name == whole; });
        script += fmt::format("        {}\n",
                              Quoted(fmt::format("{}:{}", name, ZshEscaped(described->summary))));
      }
      script += fmt::format(
          "      )\n      _describe command commands{}\n      ;;\n    arguments)\n      case "
          "$line[1] in\n",
          !TakesFiles(command) ? "" : "\n      _files");
      for (const std::string& name : inner) {
        std::string function = FunctionOf(command) + (command.name.empty() ? "" : "_") + name;
        script += fmt::format("        {}) {} ;;\n", name, function);
      }
      script += fmt::format("{}      esac\n      ;;\n  esac\n",
                            !TakesFiles(command) ? "" : "        *) _files ;;\n");
    }
    script += "}\n";
  }
  script +=
      "if [[ $funcstack[1] == _headroom ]]; then _headroom_ \"$@\"; else compdef _headroom_ "
      "headroom; fi\n";
  return script;
}

std::string FishCompletion(std::span<const CommandDescription> commands) {
  std::string script =
      "# Completes headroom in fish: headroom completion fish | source\n"
      "complete -c headroom -f\n";
  for (const CommandDescription& command : commands) {
    std::string condition = "__fish_use_subcommand";
    if (!command.name.empty()) {
      std::string_view rest = command.name;
      condition.clear();
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        condition += fmt::format("{}__fish_seen_subcommand_from {}",
                                 condition.empty() ? "" : "; and ", rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    const std::string begin = fmt::format("complete -c headroom -n {}", Quoted(condition));
    for (const std::string& name : InnerCommands(commands, command)) {
      const std::string whole = command.name.empty() ? name : command.name + " " + name;
      const auto described = std::find_if(commands.begin(), commands.end(),
                                          [&](const auto& one) { return one.name == whole; });
      script += fmt::format("{} -a {} -d {}\n", begin, Quoted(name), Quoted(described->summary));
    }
    if (TakesFiles(command)) script += begin + " -F\n";
    if (const std::vector<std::string> words = ArgumentWords(command); !words.empty())
      script += fmt::format("{} -a {}\n", begin, Quoted(Joined(words)));
    for (const FlagDescription& flag : command.flags) {
      script += begin;
      for (const std::string& name : flag.names)
        script += IsLong(name) ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!flag.value.empty()) script += MayBeFile(flag) ? " -r -F" : " -x";
      if (!flag.words.empty()) script += " -a " + Quoted(Joined(flag.words));
      script += fmt::format(" -d {}\n", Quoted(flag.description));
    }
  }
  return script;
}

}  // namespace headroom::cli
