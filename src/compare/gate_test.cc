#include "compare/gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace gate_test {

JobProfile ProfileWith(double step_ms, double error) {
  JobProfile profile;
  profile.paths = {"t.json"};
  profile.steps = 50;
  profile.verdict = "gpu-compute";
  profile.median_ms = step_ms;
  profile.parts_ms[0] = step_ms;
  profile.runs = {{{"step_ms", {step_ms, error, 40}},
                   {"gpu_tasks", {100, 0, 40}},
                   {"data_wait_ms", {0, 0, 40}}}};
  profile.kernels = {{.name = "gemm<=4>", .inside = "aten::mm", .calls = 2, .ms = {40, 0.1, 40}}};
  return profile;
}

GateVerdict Judge(const JobDiff& diff, std::string_view text) {
  const Result<GateRule> rule = ParseGateRule(text);
  EXPECT_TRUE(rule.ok()) << rule.status().message();
  const Result<GateResult> gate = JudgeGate(diff, {rule.value()});
  EXPECT_TRUE(gate.ok()) << gate.status().message();
  return gate.value().verdict;
}

TEST(GateTest, RulesAreRead) {
  const GateRule rule = ParseGateRule(" step_ms <= +3.5 % ").value();
  EXPECT_EQ(rule.metric, "step_ms");
  EXPECT_TRUE(rule.at_most);
  EXPECT_EQ(rule.kind, GateRule::Limit::kPercent);
  EXPECT_EQ(rule.limit, 3.5);
  EXPECT_EQ(ParseGateRule("samples_per_s>=-2%").value().limit, -2);
  EXPECT_EQ(ParseGateRule("data_wait_ms<=+500us").value().limit, 0.5);
  EXPECT_EQ(ParseGateRule("data_wait_ms<=+500us").value().kind, GateRule::Limit::kChange);
  EXPECT_EQ(ParseGateRule("memory_peak_mb<=40GB").value().limit, 40000);
  EXPECT_EQ(ParseGateRule("memory_peak_mb<=40GB").value().kind, GateRule::Limit::kValue);
  EXPECT_EQ(ParseGateRule("kernel:gemm<=4><=+1%").value().metric, "kernel:gemm<=4>");
}

TEST(GateTest, WrongRulesAreUsageErrorsThatHelp) {
  for (const char* text : {"", "step_ms", "step_ms<=", "step_ms<=x", "step_ms<=3%", "step_ms<=+3GB",
                           "step_ms<=nan", "<=+3%", "kernel:<=+3%", "step_ms==3", "step_ms<=+-3%",
                           "step_ms<=-+3%", "step_ms<=1e308s"}) {
    const Result<GateRule> rule = ParseGateRule(text);
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_EQ(rule.status().code(), StatusCode::kUsage) << text;
  }
  EXPECT_NE(ParseGateRule("step_mss<=+3%").status().message().find("did you mean step_ms"),
            std::string::npos);
}

TEST(GateTest, FilesOfRules) {
  const auto read = [](std::string_view text) { return ReadGateRules({"rules.toml", text}); };
  const auto rules = read(
      "[[rule]]\nmetric = \"step_ms\"\nlimit = \"<=+3%\"\n[[rule]]\nmetric = \"gpu_tasks\"\nlimit "
      "= "
      "\"<=+0\"\n");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_EQ(rules.value().size(), 2U);
  for (const char* text : {"", "rules = 1", "[[rule]]\nmetric = \"step_ms\"\n", "[[rule",
                           "[[rule]]\nmetric = \"step_ms\"\nlimit = \"<=+3%\"\nnote = \"x\"\n",
                           "[[rule]]\nmetric = \"stepms\"\nlimit = \"<=+3%\"\n"}) {
    const auto wrong = read(text);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_EQ(wrong.status().code(), StatusCode::kUsage) << text;
  }
}

TEST(GateTest, TheWholeIntervalDecides) {
  const JobProfile before = ProfileWith(100, 0.1);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(100.5, 0.1), {}), "step_ms<=+3%"),
            GateVerdict::kPass);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(105, 0.1), {}), "step_ms<=+3%"), GateVerdict::kFail);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(103, 0.1), {}), "step_ms<=+3%"),
            GateVerdict::kInconclusive);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(110, 8), {}), "step_ms<=+3%"),
            GateVerdict::kInconclusive);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(80, 0.1), {}), "step_ms<=-10%"), GateVerdict::kPass);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(105, 0.1), {}), "step_ms<=120ms"),
            GateVerdict::kPass);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(130, 0.1), {}), "step_ms<=120ms"),
            GateVerdict::kFail);
  EXPECT_EQ(Judge(Compare(before, ProfileWith(105, 0.1), {}), "step_ms>=-1%"), GateVerdict::kPass);
}

TEST(GateTest, CountsAreExact) {
  const JobProfile before = ProfileWith(100, 0.1);
  JobProfile after = before;
  EXPECT_EQ(Judge(Compare(before, after, {}), "gpu_tasks<=+0%"), GateVerdict::kPass);
  after.runs.front()["gpu_tasks"].value = 101;
  EXPECT_EQ(Judge(Compare(before, after, {}), "gpu_tasks<=+0%"), GateVerdict::kFail);
}

TEST(GateTest, WhatIsNotRecordedIsMissingAndNoPass) {
  JobProfile recorded = ProfileWith(100, 0.1);
  recorded.runs.front()["memory_peak_mb"] = {.value = 10, .error = 0, .freedom = 1};
  const JobDiff gone = Compare(recorded, ProfileWith(100, 0.1), {});
  EXPECT_EQ(Judge(gone, "memory_peak_mb<=+1%"), GateVerdict::kMissing);
  EXPECT_EQ(Judge(gone, "memory_peak_mb<=40GB"), GateVerdict::kMissing);
  const JobDiff fresh = Compare(ProfileWith(100, 0.1), recorded, {});
  EXPECT_EQ(Judge(fresh, "memory_peak_mb<=+1%"), GateVerdict::kMissing);
  EXPECT_EQ(Judge(fresh, "memory_peak_mb<=40GB"), GateVerdict::kPass) << "of B alone";
}

TEST(GateTest, ARowThatIsGonePassesWithAWord) {
  JobProfile after = ProfileWith(100, 0.1);
  after.kernels.front().name = "gemm_v2";
  const JobDiff diff = Compare(ProfileWith(100, 0.1), after, {});
  const GateResult gate = JudgeGate(diff, {ParseGateRule("kernel:gemm<=4><=+5%").value()}).value();
  EXPECT_EQ(gate.verdict, GateVerdict::kPass);
  EXPECT_NE(gate.rules.front().why.find("B has no such row"), std::string::npos);
  EXPECT_EQ(Judge(diff, "kernel:gemm<=4>>=1us"), GateVerdict::kFail) << "it is required";
}

TEST(GateTest, RowsOfTheRuns) {
  const JobDiff diff = Compare(ProfileWith(100, 0.1), ProfileWith(100, 0.1), {});
  EXPECT_EQ(Judge(diff, "kernel:gemm<=4><=+5%"), GateVerdict::kPass);
  const Result<GateResult> unknown = JudgeGate(diff, {ParseGateRule("kernel:gem<=+5%").value()});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kUsage);
}

TEST(GateTest, ATimeBelowAThousandthOfTheStepIsForgiven) {
  JobProfile after = ProfileWith(100, 0.01);
  after.runs.front()["data_wait_ms"].value = 0.05;
  EXPECT_EQ(Judge(Compare(ProfileWith(100, 0.01), after, {}), "data_wait_ms<=+3%"),
            GateVerdict::kPass);
  after.runs.front()["data_wait_ms"].value = 5;
  EXPECT_EQ(Judge(Compare(ProfileWith(100, 0.01), after, {}), "data_wait_ms<=+3%"),
            GateVerdict::kFail);
}

TEST(GateTest, IncomparableRunsNeverPass) {
  JobProfile a = ProfileWith(100, 0.1), b = ProfileWith(50, 0.1);
  a.facts = {{"gpu", "NVIDIA H100"}};
  b.facts = {{"gpu", "NVIDIA H200"}};
  EXPECT_EQ(Judge(Compare(a, b, {}), "step_ms<=+3%"), GateVerdict::kNotComparable);
  const std::vector<std::string> accepted = {"gpu"};
  EXPECT_EQ(Judge(Compare(a, b, accepted), "step_ms<=+3%"), GateVerdict::kPass);
}

}  // namespace gate_test
}  // namespace headroom
