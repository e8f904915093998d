// Checks rules for each flag of the real program.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/commands/all_commands.h"
#include "cli/flags/help.h"
#include "cli/flags/man_page.h"
#include "cli/flags/shell_completion.h"
#include "render/text_page.h"

namespace headroom::cli {
namespace program_test {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<CommandDescription>& Commands() {
  static const std::vector<CommandDescription> commands = [] {
    const Program program("headroom", "Summary", "1", "", HelpText);
    const auto made = MakeCommands(program);
    return program.Describe();
  }();
  return commands;
}

/// Calls `check` with each flag and argument, and the place of its declaration.
template <class Check>
void ForEachFlag(const Check& check) {
  for (const CommandDescription& command : Commands()) {
    for (const auto* list : {&command.arguments, &command.flags}) {
      for (const FlagDescription& flag : *list)
        check(command, flag, command.name + " " + flag.names.front());
    }
  }
}

TEST(ProgramTable, HasEveryCommandOnce) {
  std::set<std::string> names;
  for (const CommandDescription& command : Commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
  }
  EXPECT_GT(names.size(), 21u);
}

TEST(ProgramTable, DescribesEachFlagInOneStyle) {
  ForEachFlag([](const CommandDescription&, const FlagDescription& flag, const std::string& at) {
    ASSERT_FALSE(flag.description.empty()) << at;
    EXPECT_TRUE(!flag.description.ends_with('.') || flag.description.ends_with("...")) << at;
    EXPECT_FALSE(flag.description.ends_with(' ')) << at;
    EXPECT_TRUE(std::all_of(flag.description.begin(), flag.description.end(), [](char c) {
      return c >= ' ' && c <= '~';
    })) << at;
    if (flag.names.front().starts_with('-')) {
      EXPECT_EQ(flag.value.empty(), !flag.takes_value) << at;
    }
  });
}

TEST(ProgramTable, NamesEachFlagOnceInACommand) {
  for (const CommandDescription& command : Commands()) {
    std::set<std::string> names;
    for (const FlagDescription& flag : command.flags) {
      for (const std::string& name : flag.names) {
        EXPECT_TRUE(names.insert(name).second) << command.name << " " << name;
        const bool is_long = name.starts_with("--");
        EXPECT_EQ(name.size() == 2, !is_long) << command.name << " " << name;
        EXPECT_EQ(std::count(name.begin(), name.end(), '_'), 0) << name;
      }
    }
  }
}

TEST(ProgramTable, DeclaresSharedFlagsAlike) {
  // A flag with the same long name has the same short name, value and words in every command.
  std::map<std::string, FlagDescription> first;
  ForEachFlag([&](const CommandDescription&, const FlagDescription& flag, const std::string& at) {
    const std::string& name = flag.names.back();
    if (name == "--json") {
      EXPECT_TRUE(Contains(flag.description, "headroom.")) << at;
    }
    if (name != "--output" && name != "--quiet" && name != "--help") return;
    const FlagDescription& same = first.try_emplace(name, flag).first->second;
    EXPECT_EQ(flag.names, same.names) << at;
    EXPECT_EQ(flag.value, same.value) << at;
  });
  EXPECT_EQ(first.size(), 3u);
}

TEST(ProgramTable, HelpFitsAndHasEachFlag) {
  for (const CommandDescription& command : Commands()) {
    const std::string help = HelpText(command);
    // The footer is verbatim, so its lines may be longer.
    for (std::size_t at = 0; at < help.size() - command.footer.size();) {
      const std::size_t end = std::min(help.find('\n', at), help.size());
      EXPECT_LE(end - at, PageStyle::kWidth) << help.substr(at, end - at);
      at = end + 1;
    }
    for (const FlagDescription& flag : command.flags)
      EXPECT_TRUE(Contains(help, flag.names.back())) << command.name << flag.names.back();
  }
}

TEST(ProgramTable, ManPageHasEachFlag) {
  for (const CommandDescription& command : Commands()) {
    const std::string page = ManPage(Commands(), command, "headroom 1");
    for (const FlagDescription& flag : command.flags) {
      std::string name;
      for (const char c : flag.names.back()) name += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_TRUE(Contains(page, "\\fB" + name + "\\fR")) << command.name << name;
    }
  }
}

/// Returns the part of a script for one command. For the last command it extends to the end.
std::string Section(const std::string& script, const std::string& begin, const std::string& end) {
  const std::size_t first = script.find(begin);
  if (first == std::string::npos) return "";
  return script.substr(first, script.find(end, first + begin.size()) - first);
}

TEST(ProgramTable, EachShellCompletesEachFlag) {
  const std::string bash = BashCompletion(Commands()), zsh = ZshCompletion(Commands()),
                    fish = FishCompletion(Commands());
  for (const CommandDescription& command : Commands()) {
    std::string function = "_headroom_" + command.name;
    std::replace(function.begin(), function.end(), ' ', '_');
    const std::string in_bash = Section(bash, "\n    '" + command.name + "')\n", "\n      ;;\n");
    const std::string in_zsh = Section(zsh, "\n" + function + "() {", "\n}\n");
    for (const FlagDescription& flag : command.flags) {
      for (const std::string& name : flag.names) {
        const std::string at = command.name + " " + name;
        EXPECT_TRUE(Contains(in_bash, name + " ") || Contains(in_bash, name + "'")) << at;
        EXPECT_TRUE(Contains(in_zsh, name + "[")) << at;
        const std::string declared =
            name.starts_with("--") ? " -l " + name.substr(2) + " " : " -s " + name.substr(1) + " ";
        EXPECT_TRUE(Contains(fish, declared)) << at;
      }
    }
  }
}

TEST(ManPage, HasNoRequestOfATextInIt) {
  const CommandDescription command{
      .name = "x y",
      .summary = ".so /etc/passwd",
      .flags = {{.names = {"-a"}, .description = "'it\\f", .group = "G"}},
      .footer = "a\n.b"};
  EXPECT_EQ(ManPage(std::vector{command}, command, "tool 1.2"),
            ".TH HEADROOM\\-X\\-Y 1 \"\" \"tool 1.2\" \"User Commands\"\n"
            ".SH NAME\nheadroom\\-x\\-y \\- \\&.so /etc/passwd\n"
            ".SH SYNOPSIS\n.B headroom x y\n[\\fIFLAGS\\fR]\n"
            ".SH OPTIONS\n.SS G\n.TP\n\\fB\\-a\\fR\n\\&'it\\ef\n"
            ".SH EXAMPLES AND EXIT CODES\n.nf\na\n\\&.b\n.fi\n"
            ".SH SEE ALSO\n\\fBheadroom\\fR(1)\n");
}

TEST(Completion, QuotesWhatAShellWouldRead) {
  const CommandDescription command{.name = "x",
                                   .summary = "it's [a]:b",
                                   .flags = {{.names = {"--to"},
                                              .value = "FILE",
                                              .takes_value = true,
                                              .words = {"p", "q"},
                                              .description = "it's $(x) [d]"}}};
  const std::vector<CommandDescription> all = {{.name = ""}, command};
  EXPECT_TRUE(
      Contains(BashCompletion(all), "--to) _headroom_words 'p q'; _headroom_files; return"));
  EXPECT_TRUE(Contains(ZshCompletion(all), "'--to[it'\\''s $(x) \\[d\\]]:FILE:"));
  EXPECT_TRUE(Contains(FishCompletion(all), " -l to -r -F -a 'p q' -d 'it'\\''s $(x) [d]'\n"));
}

}  // namespace program_test
}  // namespace headroom::cli
