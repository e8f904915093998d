#include "analysis/names/group_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "analysis/test_trace.h"
#include "cost/rule_checks.h"

namespace headroom {
namespace group_rules_test {

std::vector<NameRule> ShippedRules() {
  const char* root = std::getenv("HEADROOM_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/data/rules/groups.toml");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ReadRules({"groups.toml", text}, kGroupRuleLists).value().front();
}

/// Returns rules in which only `rule` matches.
GroupRules Alone(const NameRule& rule) {
  const std::string text = fmt::format(
      "[[rule]]\naxis = \"{}\"\nabout = \"x\"\nmatch = '{}'\nexamples = [\"x\"]\nnot = [\"y\"]\n",
      rule.value, rule.match);
  return GroupRules::Parse({"alone.toml", text}).value();
}

TEST(GroupRules, MatchTheirOwnExamplesAndNoneOfTheNearMisses) {
  for (const NameRule& rule : ShippedRules()) {
    const GroupRules alone = Alone(rule);
    for (const std::string& name : rule.examples)
      EXPECT_TRUE(alone.AxisOf(name).has_value()) << rule.where << ": " << name;
    for (const std::string& name : rule.near_misses)
      EXPECT_FALSE(alone.AxisOf(name).has_value()) << rule.where << ": " << name;
  }
}

TEST(GroupRules, HaveAnExampleForEachAlternative) {
  for (const NameRule& rule : ShippedRules()) ExpectAnExampleForEachAlternative(rule);
}

TEST(GroupRules, EachExampleIsOfItsOwnAxisAmongAll) {
  const GroupRules& rules = TestReferenceData().groups();
  std::set<std::string> axes;
  for (const NameRule& rule : ShippedRules()) {
    axes.insert(rule.value);
    for (const std::string& name : rule.examples) {
      const std::optional<ParallelAxis> axis = rules.AxisOf(name);
      ASSERT_TRUE(axis.has_value()) << name;
      EXPECT_EQ(Name(*axis), rule.value) << name;
    }
  }
  EXPECT_EQ(axes.size(), 6u);
  EXPECT_FALSE(rules.AxisOf("default_pg").has_value());
  EXPECT_FALSE(rules.AxisOf("").has_value());
}

TEST(GroupRules, SayWhatIsWrongWithAFile) {
  const auto error = [](const char* axis, const char* match) {
    return GroupRules::Parse(
               {"g.toml", fmt::format("[[rule]]\naxis = \"{}\"\nabout = \"x\"\nmatch = '{}'\n"
                                      "examples = [\"x\"]\nnot = [\"y\"]\n",
                                      axis, match)})
        .status()
        .message();
  };
  EXPECT_NE(error("time", "x").find("unknown axis = 'time'"), std::string::npos);
  EXPECT_NE(error("data", "(").find("is not a valid RE2 expression"), std::string::npos);
}

}  // namespace group_rules_test
}  // namespace headroom
