#include "compare/comparability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace headroom {
namespace comparability_test {

JobProfile WithFacts(std::vector<ProfileFact> facts) {
  JobProfile profile;
  profile.facts = std::move(facts);
  return profile;
}

FactState StateOf(const JobProfile& a, const JobProfile& b, std::string_view name) {
  for (const ComparedFact& fact : CompareFacts(a, b, {})) {
    if (fact.name == name) return fact.state;
  }
  ADD_FAILURE() << name;
  return FactState::kUnknown;
}

TEST(ComparabilityTest, FactsAreSameDifferentOrUnknown) {
  const JobProfile a = WithFacts({{"gpu", "NVIDIA H200"}, {"batch", "64"}});
  const JobProfile b = WithFacts({{"gpu", "NVIDIA H100"}, {"batch", "64"}});
  EXPECT_EQ(StateOf(a, b, "gpu"), FactState::kDifferent);
  EXPECT_EQ(StateOf(a, b, "batch"), FactState::kSame);
  EXPECT_EQ(StateOf(a, b, "power_limit"), FactState::kUnknown);
  EXPECT_FALSE(AreComparable(CompareFacts(a, b, {})));
  EXPECT_TRUE(AreComparable(CompareFacts(a, a, {})));
}

TEST(ComparabilityTest, NumbersMayVary) {
  const JobProfile a = WithFacts({{"sm_clock", "1980 MHz, 1980 MHz"}});
  EXPECT_EQ(StateOf(a, WithFacts({{"sm_clock", "1965 MHz, 1990 MHz"}}), "sm_clock"),
            FactState::kSame);
  EXPECT_EQ(StateOf(a, WithFacts({{"sm_clock", "1410 MHz, 1980 MHz"}}), "sm_clock"),
            FactState::kDifferent);
  EXPECT_EQ(StateOf(a, WithFacts({{"sm_clock", "1980 MHz"}}), "sm_clock"), FactState::kDifferent);
}

TEST(ComparabilityTest, OtherOperatorsAreAnotherModel) {
  JobProfile a, b;
  a.operators = {{.name = "aten::mm", .ms = {9, 0, 1}}, {.name = "aten::add", .ms = {1, 0, 1}}};
  b.operators = {{.name = "aten::conv2d", .ms = {9, 0, 1}}, {.name = "aten::add", .ms = {1, 0, 1}}};
  EXPECT_EQ(StateOf(a, b, "operators"), FactState::kDifferent);
  EXPECT_EQ(StateOf(a, a, "operators"), FactState::kSame);
}

TEST(ComparabilityTest, SettingsOfTheMachineAreRemarks) {
  const JobProfile a = WithFacts({{"env.CUDA_LAUNCH_BLOCKING", "1"}});
  const JobProfile b = WithFacts({{"env.CUDA_LAUNCH_BLOCKING", "0"}});
  const std::vector<ComparedFact> facts = CompareFacts(a, b, {});
  EXPECT_EQ(facts.front().name, "env.CUDA_LAUNCH_BLOCKING");
  EXPECT_FALSE(facts.front().cost.empty());
  EXPECT_TRUE(AreComparable(facts));
}

TEST(ComparabilityTest, AcceptedNamesAreChecked) {
  EXPECT_TRUE(CheckAccepted(std::vector<std::string>{"gpu", "batch"}).ok());
  const Status wrong = CheckAccepted(std::vector<std::string>{"bach"});
  EXPECT_EQ(wrong.code(), StatusCode::kUsage);
  EXPECT_NE(wrong.message().find("did you mean batch"), std::string::npos) << wrong.message();
}

}  // namespace comparability_test
}  // namespace headroom
