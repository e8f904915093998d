#include "cost/rule_file.h"

#include <gtest/gtest.h>

#include <string>

#include "cost/rule_checks.h"

namespace headroom {
namespace rule_file_test {

constexpr RuleFormat kFormats[] = {{.list = "kind", .value_key = "is"},
                                   {.list = "rule", .value_key = "role", .explained = true}};

constexpr const char* kGood = R"(
[[kind]]
is = "a"
match = 'x|y'
examples = ["x", "y"]
[[rule]]
role = "b"
about = "letters"
match = 'z'
examples = ["z"]
not = ["w"]
)";

TEST(RuleFile, GivesTheRulesOfEachList) {
  const auto lists = ReadRules({"r.toml", kGood}, kFormats);
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  ASSERT_EQ(lists.value().size(), 2u);
  ASSERT_EQ(lists.value()[0].size(), 1u);
  const NameRule& kind = lists.value()[0][0];
  EXPECT_EQ(kind.where, "rule 1 of [[kind]]");
  EXPECT_EQ(kind.value, "a");
  EXPECT_EQ(kind.match, "x|y");
  EXPECT_EQ(kind.examples, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(lists.value()[1][0].near_misses, (std::vector<std::string>{"w"}));
}

TEST(RuleFile, SaysWhatIsWrong) {
  const struct {
    const char* from;
    const char* to;
    const char* names;  ///< The message must contain it.
  } kCases[] = {
      {"is = \"a\"", "is = ", "line 3"},
      {"is = \"a\"", "is = 1", "rule 1 of [[kind]]"},
      {"is = \"a\"\n", "", "is, match"},
      {"match = 'x|y'\n", "", "rule 1 of [[kind]]"},
      {"'x|y'", "''", "non-empty"},
      {"examples = [\"x\", \"y\"]", "examples = []", "examples"},
      {"examples = [\"x\", \"y\"]", "examples = \"x\"", "examples"},
      {"[\"x\", \"y\"]", "[\"x\", 1]", "examples"},
      {"[\"x\", \"y\"]", "[\"\"]", "examples"},
      {"is = \"a\"", "is = \"a\"\nweight = 3", "no other keys"},
      {"is = \"a\"", "is = \"a\"\nnot = [\"w\"]", "no other keys"},
      {"about = \"letters\"\n", "", "rule 1 of [[rule]]"},
      {"not = [\"w\"]\n", "", "not"},
      {"[[rule]]", "[[rulle]]", "'rulle'"},
      {"\n[[kind]]", "version = 1\n[[kind]]", "'version'"},
  };
  for (const auto& c : kCases) {
    std::string text = kGood;
    text.replace(text.find(c.from), std::string_view(c.from).size(), c.to);
    const auto lists = ReadRules({"r.toml", text}, kFormats);
    ASSERT_FALSE(lists.ok()) << text;
    EXPECT_EQ(lists.status().code(), StatusCode::kBadInput);
    EXPECT_NE(lists.status().message().find("r.toml"), std::string::npos)
        << lists.status().message();
    EXPECT_NE(lists.status().message().find(c.names), std::string::npos)
        << lists.status().message();
  }
  EXPECT_NE(ReadRules({"r.toml", "kind = [1]"}, kFormats).status().message().find("rule 1"),
            std::string::npos);
  EXPECT_NE(ReadRules({"r.toml", ""}, kFormats).status().message().find("[[kind]]"),
            std::string::npos);
}

TEST(RuleChecks, SplitAtTheOutermostBars) {
  EXPECT_EQ(Alternatives("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(Alternatives("a(b|c)|[|(]d|\\|e"),
            (std::vector<std::string>{"a(b|c)", "[|(]d", "\\|e"}));
  EXPECT_EQ(Alternatives("a|(?i)b|c"), (std::vector<std::string>{"a", "(?i)b", "(?i)c"}));
}

}  // namespace rule_file_test
}  // namespace headroom
