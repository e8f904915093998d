#include "cli/flags/command.h"

#include <gtest/gtest.h>

#include <limits>

#include "cli/flags/help.h"

namespace headroom::cli {
namespace command_test {

using Words = std::vector<std::string>;
using Request = ParsedCommandLine::Request;

/// A program with a flag of each form.
struct Sample {
  std::string text, level = "unset";
  Words inputs, names, repeated;
  std::int64_t count = 7;
  std::optional<double> factor;
  std::pair<std::string, std::string> both;
  bool quiet = false, left = false, right = false;
  Program program{"tool", "A tool.", "1.2", "The end.\n", HelpText};
  Command run, data, bench;

  Sample() {
    run = program.root().AddCommand("run", "Runs", "Examples\n");
    run.AddOption("INPUT", inputs, "Inputs");
    run.AddOption("-t,--text", text, "A text").TypeName("TEXT");
    run.AddOption("--count", count, "A count").TypeName("N").Check(WholeNumber(1, 9));
    run.AddOption("--factor", factor, "A factor").TypeName("X").Check(AboveZero());
    run.AddOption("--names", names, "Names").TypeName("NAME,...").Delimiter(',').OneValueEach();
    run.AddOption("--repeated", repeated, "Again").TypeName("NAME").OneValueEach();
    run.AddOption("--level", level, "A level").TypeName("[LEVEL]").ValueOr("usual");
    run.AddOption("--both", both, "Two").TypeName("A B");
    run.AddFlag("-q,--quiet", quiet, "Quiet");
    const Flag other = run.AddFlag("--left", left, "Left");
    run.AddFlag("--right", right, "Right").Excludes(other).Group("Sides");
    data = program.root().AddCommand("data", "Data", "");
    data.RequireCommand();
    bench = data.AddCommand("bench", "Measures", "");
    bench.AddOption("--to", text, "The target").TypeName("FILE").Required();
  }
};

TEST(Parse, TakesEachFormOfAFlag) {
  for (const Words& words : {Words{"run", "--text=a b"},
                             {"run", "--text", "a b"},
                             {"run", "-t", "a b"},
                             {"run", "-ta b"}}) {
    Sample s;
    const ParsedCommandLine parsed = s.program.Parse(words);
    EXPECT_EQ(parsed.request, Request::kRun) << parsed.wrong;
    EXPECT_EQ(s.text, "a b");
    EXPECT_EQ(parsed.asked.path(), "run");
    EXPECT_TRUE(s.run.is_chosen() && s.run.is_given("--text"));
    EXPECT_FALSE(s.data.is_chosen() || s.run.is_given("--count"));
    EXPECT_EQ(s.count, 7) << "as it was";
  }
}

TEST(Parse, FillsTargetsOfAllTypes) {
  Sample s;
  const ParsedCommandLine parsed = s.program.Parse(
      {"run", "in1", "-q", "--names=a,b", "--names", "c", "--repeated", "x", "in2", "--repeated",
       "y,z", "--count", "9", "--factor=0.5", "--both", "1", "2", "--level"});
  ASSERT_EQ(parsed.request, Request::kRun) << parsed.wrong;
  EXPECT_EQ(s.inputs, (Words{"in1", "in2"})) << "a flag of one value each takes no input";
  EXPECT_EQ(s.names, (Words{"a", "b", "c"}));
  EXPECT_EQ(s.repeated, (Words{"x", "y,z"})) << "no delimiter";
  EXPECT_EQ(s.count, 9);
  EXPECT_EQ(s.factor, 0.5);
  EXPECT_EQ(s.both, std::pair(std::string("1"), std::string("2")));
  EXPECT_EQ(s.level, "usual");
  EXPECT_TRUE(s.quiet);
}

TEST(Parse, AnEmptyValueTakesNoOtherWord) {
  for (const Words& words : {Words{"run", "--text=", "--left"},
                             {"run", "--text=", "in"},
                             {"run", "in", "--text="},
                             {"data", "bench", "--to=", "--help"}}) {
    Sample s;
    const ParsedCommandLine parsed = s.program.Parse(words);
    EXPECT_EQ(parsed.request, Request::kRefused);
    EXPECT_NE(parsed.wrong.find("=: the value is empty"), std::string::npos) << parsed.wrong;
  }
  Sample s;
  EXPECT_EQ(s.program.Parse({"run", "--", "--text="}).request, Request::kRun);
}

TEST(Parse, DashesEndTheFlags) {
  Sample s;
  ASSERT_EQ(s.program.Parse({"run", "-q", "--", "--left", "-t"}).request, Request::kRun);
  EXPECT_EQ(s.inputs, (Words{"--left", "-t"}));
  EXPECT_FALSE(s.left);
}

TEST(Parse, LeavesAnotherProgramsCommandLine) {
  Program program("tool", "", "1", "", HelpText);
  const Command record = program.root().AddCommand("record", "Records", "");
  bool quiet = false;
  record.AddFlag("-q", quiet, "Quiet");
  record.TakeCommandLine();
  ASSERT_EQ(program.Parse({"record", "-q", "python", "-q", "x.py"}).request, Request::kRun);
  EXPECT_TRUE(quiet);
  EXPECT_EQ(record.remaining(), (Words{"python", "-q", "x.py"}));
}

TEST(Parse, SaysWhatIsWrong) {
  const struct {
    Words words;
    const char *wrong, *asked;
  } kCases[] = {
      {{"rum"}, "rum: no such command; did you mean run", ""},
      {{"zzzzzz"}, "zzzzzz: no such command; the commands are run, data", ""},
      {{"run", "--quit"}, "--quit: no such flag; did you mean --quiet", "run"},
      {{"run", "--zzzzzzzz=1"}, "--zzzzzzzz: no such flag", "run"},
      {{"run", "--count", "10"}, "--count: 10 is not a whole number from 1 to 9", "run"},
      {{"run", "--left", "--right"}, "--left excludes --right", "run"},
      {{"run", "--text"}, "--text: 1 required TEXT missing", "run"},
      {{"data"}, "data requires a command: bench", "data"},
      {{"data", "bnch"}, "data bnch: no such command; did you mean bench", "data"},
      {{"data", "--to=x"}, "data --to=x: no such flag; a command comes first: bench", "data"},
      {{"data", "bench"}, "--to is required", "data bench"},
  };
  for (const auto& c : kCases) {
    const Sample s;
    const ParsedCommandLine parsed = s.program.Parse(c.words);
    EXPECT_EQ(parsed.request, Request::kRefused) << c.wrong;
    EXPECT_EQ(parsed.wrong, c.wrong);
    EXPECT_EQ(parsed.asked.path(), c.asked);
  }
}

TEST(Parse, HelpAndVersionComeFirst) {
  const struct {
    Words words;
    Request request;
    const char* asked;
  } kCases[] = {{{"--version"}, Request::kVersion, ""},
                {{"--help"}, Request::kHelp, ""},
                {{"run", "-h"}, Request::kHelp, "run"},
                {{"data", "--help"}, Request::kHelp, "data"},
                {{"data", "bench", "--help"}, Request::kHelp, "data bench"},
                {{"run", "--version"}, Request::kRefused, "run"},
                {{}, Request::kRun, ""}};
  for (const auto& c : kCases) {
    const Sample s;
    const ParsedCommandLine parsed = s.program.Parse(c.words);
    EXPECT_EQ(parsed.request, c.request) << parsed.wrong;
    EXPECT_EQ(parsed.asked.path(), c.asked);
  }
}

TEST(Help, IsTheWholeOfACommand) {
  const Sample s;
  EXPECT_EQ(s.run.Help(),
            "Runs\n\nUsage: headroom run [INPUT...] [FLAGS]\n\n"
            "  INPUT                     Inputs\n\n"
            "Options:\n"
            "  -h, --help                Print this help\n"
            "  -t, --text TEXT           A text\n"
            "  --count N                 A count\n"
            "  --factor X                A factor\n"
            "  --names NAME,...          Names\n"
            "  --repeated NAME           Again\n"
            "  --level [LEVEL]           A level\n"
            "  --both A B                Two\n"
            "  -q, --quiet               Quiet\n"
            "  --left                    Left\n\n"
            "Sides:\n"
            "  --right                   Right\n\nExamples\n");
}

TEST(Help, ShowsADefaultThatStandsForNoValue) {
  const Program program("tool", "A tool.", "1.2", "", HelpText);
  std::int64_t count = 7;
  const Command run = program.root().AddCommand("run", "Runs", "");
  run.AddOption("--count", count, "A count").ShowDefault().TypeName("N");
  EXPECT_NE(run.Help().find("A count [7]\n"), std::string::npos) << run.Help();
  EXPECT_EQ(program.Parse({"run", "--count"}).request, Request::kRefused);
  EXPECT_EQ(count, 7);
}

TEST(Commands, AreFoundByName) {
  const Sample s;
  EXPECT_EQ(s.program.root().command_names(), (Words{"run", "data"}));
  ASSERT_TRUE(s.data.FindCommand("bench"));
  EXPECT_EQ(s.data.FindCommand("bench")->path(), "data bench");
  EXPECT_EQ(s.data.FindCommand("bench")->name(), "bench");
  EXPECT_FALSE(s.data.FindCommand(""));
  EXPECT_FALSE(s.data.FindCommand("run"));
}

TEST(ValueChecks, HoldAtTheirLimits) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::string_view kKnown[] = {"a", "b"};
  const struct {
    const char* name;
    ValueCheck check;
    Words valid, invalid;
    const char* wrong;  ///< The first invalid value.
  } kCases[] = {
      {"OneOf",
       OneOf({"auto", "never"}),
       {"auto", "never"},
       {"nevr", "", "AUTO", "auto "},
       "nevr is not one of auto, never; did you mean never"},
      {"Known", Known(kKnown), {"a", "c", ""}, {}, ""},
      {"NotEmpty", NotEmpty(), {" ", "x"}, {""}, "is empty"},
      {"NameList",
       NameList(),
       {"a", "a,b", " "},
       {"a,,b", "", ",", ",a", "a,"},
       "'a,,b' has an empty name"},
      {"WholeNumber",
       WholeNumber(-1, kMax),
       {"-1", "0", "9223372036854775807"},
       {"-2", "9223372036854775808", "", "1.0", "1e3", "+1", " 1", "1 ", "0x1"},
       "-2 is not a whole number from -1 to 9223372036854775807"},
      {"Between",
       Between(0, 1.5),
       {"0", "-0", "1.5", "1e-3", ".5"},
       {"1.50001", "-0.1", "", "nan", "inf", "1x", " 1", "1e999"},
       "1.50001 is not a number from 0 to 1.5"},
      {"AboveZero",
       AboveZero(),
       {"1e-300", "1e300"},
       {"0", "-1", "", "nan", "inf", "x"},
       "0 is not a number above 0"},
  };
  for (const auto& c : kCases) {
    for (const std::string& text : c.valid) EXPECT_EQ(c.check.wrong(text), "") << c.name;
    for (const std::string& text : c.invalid)
      EXPECT_NE(c.check.wrong(text), "") << c.name << " '" << text << "'";
    if (!c.invalid.empty()) {
      EXPECT_EQ(c.check.wrong(c.invalid.front()), c.wrong);
    }
  }
  EXPECT_EQ(OneOf({"a", "b"}).words, "a|b");
  EXPECT_EQ(Known(kKnown).words, "a|b|...");
}

}  // namespace command_test
}  // namespace headroom::cli
