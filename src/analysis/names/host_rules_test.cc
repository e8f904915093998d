#include "analysis/names/host_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/test_trace.h"
#include "cost/rule_checks.h"

namespace headroom {
namespace host_rules_test {

std::string ShippedText() {
  const char* root = std::getenv("HEADROOM_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/data/rules/host.toml");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<NameRule> ShippedRules() {
  return ReadRules({"host.toml", ShippedText()}, kHostRuleLists).value().front();
}

/// Returns rules in which only `rule` matches.
HostRules Alone(const NameRule& rule) {
  const std::string text = fmt::format(
      "[[rule]]\nrole = \"{}\"\nabout = \"x\"\nmatch = '{}'\nexamples = [\"x\"]\nnot = [\"y\"]\n",
      rule.value, rule.match);
  return HostRules::Parse({"alone.toml", text}).value();
}

TEST(HostRules, MatchTheirOwnExamplesAndNoneOfTheNearMisses) {
  for (const NameRule& rule : ShippedRules()) {
    const HostRules alone = Alone(rule);
    for (const std::string& name : rule.examples)
      EXPECT_NE(alone.RolesOf(name), HostRoles()) << rule.where << ": " << name;
    for (const std::string& name : rule.near_misses)
      EXPECT_EQ(alone.RolesOf(name), HostRoles()) << rule.where << ": " << name;
  }
}

TEST(HostRules, HaveAnExampleForEachAlternative) {
  for (const NameRule& rule : ShippedRules()) ExpectAnExampleForEachAlternative(rule);
}

TEST(HostRules, GiveEveryRoleARule) {
  const HostRules& rules = TestReferenceData().host();
  HostRoles all;
  for (const NameRule& rule : ShippedRules()) {
    for (int role = 0; role <= static_cast<int>(HostRole::kAllocation); ++role) {
      if (rules.RolesOf(rule.examples.front()).Has(static_cast<HostRole>(role)))
        all.Add(static_cast<HostRole>(role));
    }
  }
  for (int role = 0; role <= static_cast<int>(HostRole::kAllocation); ++role)
    EXPECT_TRUE(all.Has(static_cast<HostRole>(role))) << "role " << role;
}

// A runtime call and its driver counterpart both block, copy and launch.
TEST(HostRules, KnowTheDriverInterfaceToo) {
  const HostRules& rules = TestReferenceData().host();
  for (const char* name : {"cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2", "hipMemcpyDtoH", "cudaMemcpy"})
    EXPECT_TRUE(rules.RolesOf(name).Has(HostRole::kSync)) << name;
  for (const char* name : {"cuMemcpyDtoHAsync_v2", "cuMemcpyAsync", "hipMemcpyDtoHAsync"}) {
    EXPECT_TRUE(rules.RolesOf(name).Has(HostRole::kAsyncCopy)) << name;
    EXPECT_FALSE(rules.RolesOf(name).Has(HostRole::kSync)) << name;
  }
  for (const char* name : {"cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch"}) {
    EXPECT_TRUE(rules.RolesOf(name).Has(HostRole::kGraphLaunch)) << name;
    EXPECT_FALSE(rules.RolesOf(name).Has(HostRole::kKernelLaunch)) << name;
  }
  EXPECT_TRUE(rules.RolesOf("cudaStreamBeginCapture").Has(HostRole::kCaptureBegin));
  EXPECT_TRUE(rules.RolesOf("cudaStreamEndCapture").Has(HostRole::kCaptureEnd));
  EXPECT_EQ(rules.RolesOf("cudaStreamIsCapturing"), HostRoles());
}

TEST(HostRules, GiveANameSeveralRoles) {
  const HostRoles roles = TestReferenceData().host().RolesOf("Optimizer.step#AdamW.step");
  EXPECT_TRUE(roles.Has(HostRole::kOptimizer));
  EXPECT_TRUE(roles.Has(HostRole::kOptimizerStep));
  EXPECT_FALSE(roles.Has(HostRole::kBackward));
}

TEST(HostRules, LookAtTheStartOfAHugeName) {
  const HostRules& rules = TestReferenceData().host();
  EXPECT_TRUE(rules.RolesOf("layer::" + std::string(1 << 20, 'x')).Has(HostRole::kLayerRange));
  EXPECT_EQ(rules.RolesOf(std::string(1 << 20, 'x') + "callback"), HostRoles());
  EXPECT_EQ(rules.RolesOf(std::string("\xff\0\n", 3)), HostRoles());
}

TEST(HostRules, SayWhatIsWrongWithARulesFile) {
  const struct {
    const char* text;
    const char* names;  ///< Must be in the message.
  } kCases[] = {
      {"rule = ", "line 1"},
      {"", "[[rule]]"},
      {"rule = [1]", "table"},
      {"[[rule]]\nrole = \"sync\"\nabout = \"x\"\nexamples = [\"x\"]\nnot = [\"y\"]", "match"},
      {"[[rule]]\nrole = \"snyc\"\nabout = \"x\"\nmatch = 'x'\nexamples = [\"x\"]\nnot = [\"y\"]",
       "snyc"},
      {"[[rule]]\nrole = \"sync\"\nabout = \"x\"\nmatch = '(x'\nexamples = [\"x\"]\nnot = [\"y\"]",
       "(x"},
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

}  // namespace host_rules_test
}  // namespace headroom
