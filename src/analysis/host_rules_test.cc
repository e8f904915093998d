#include "analysis/host_rules.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace {

TEST(HostRules, MatchTheirOwnExamplesAndNoneOfTheNearMisses) {
  const HostRules& rules = TestKnowledge().host();
  std::map<HostRole, std::pair<int, int>> seen;
  for (const HostRules::Example& example : rules.examples()) {
    EXPECT_EQ(rules.RolesOf(example.name).Has(example.role), example.matches)
        << example.name << ", role " << static_cast<int>(example.role);
    ++(example.matches ? seen[example.role].first : seen[example.role].second);
  }
  for (int role = 0; role <= static_cast<int>(HostRole::kLibraryFrame); ++role) {
    const auto& [hits, misses] = seen[static_cast<HostRole>(role)];
    EXPECT_GT(hits, 0) << "role " << role << " has no example";
    EXPECT_GT(misses, 0) << "role " << role << " has no near miss";
  }
}

TEST(HostRules, GiveANameSeveralRoles) {
  const HostRoles roles = TestKnowledge().host().RolesOf("Optimizer.step#AdamW.step");
  EXPECT_TRUE(roles.Has(HostRole::kOptimizer));
  EXPECT_TRUE(roles.Has(HostRole::kOptimizerStep));
  EXPECT_FALSE(roles.Has(HostRole::kBackward));
}

TEST(HostRules, LookAtTheStartOfAHugeName) {
  const HostRules& rules = TestKnowledge().host();
  EXPECT_TRUE(rules.RolesOf("layer::" + std::string(1 << 20, 'x')).Has(HostRole::kLayerRange));
  EXPECT_EQ(rules.RolesOf(std::string(1 << 20, 'x') + "callback"), HostRoles());
  EXPECT_EQ(rules.RolesOf(std::string("\xff\0\n", 3)), HostRoles());
}

TEST(HostRules, SayWhatIsWrongWithARulesFile) {
  const struct {
    const char* text;
    const char* names;  ///< Must be in the message.
  } kCases[] = {
      {"version = ", "line 1"},
      {"version = 1", "[[rule]]"},
      {"rule = [1]", "table"},
      {"[[rule]]\nrole = \"launhc\"\nmatch = 'x'", "launhc"},
      {"[[rule]]\nrole = \"sync\"\nmatch = '(x'", "sync"},
  };
  for (const auto& c : kCases) {
    const Result<HostRules> rules = HostRules::Parse({"r.toml", c.text});
    ASSERT_FALSE(rules.ok()) << c.text;
    EXPECT_EQ(rules.status().code(), StatusCode::kBadInput);
    EXPECT_NE(rules.status().message().find("r.toml"), std::string::npos)
        << rules.status().message();
    EXPECT_NE(rules.status().message().find(c.names), std::string::npos)
        << rules.status().message();
  }
}

}  // namespace
}  // namespace headroom
