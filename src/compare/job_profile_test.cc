#include "compare/job_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/test_trace.h"
#include "compare/baseline_file.h"
#include "compare/job_diff.h"

namespace headroom {
namespace job_profile_test {

JobProfile ProfileOf(const StoreBuilder& builder) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  NameFacts names(*store, TestReferenceData());
  const Result<AnalyzedTrace> trace = AnalyzeTrace(*store, TestReferenceData(), names, {});
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  Result<JobProfile> profile = MakeProfile(*store, names, trace.value());
  EXPECT_TRUE(profile.ok()) << profile.status().message();
  return std::move(profile).value();
}

/// Three steps of 1 ms, each with a matrix product of `gemm_us` and an addition of 100 us.
StoreBuilder Job(std::int64_t gemm_us, const char* gemm = kGemm) {
  StoreBuilder builder;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = 1000 * step;
    builder.Step(step, kMain, at, 990);
    builder.Launch("aten::mm", kMain, at + 10, gemm, kStream, at + 50, gemm_us);
    builder.Launch("aten::add", kMain, at + 500, kAdd, kStream, at + 800, 100);
  }
  return builder;
}

TEST(JobProfileTest, PartsSumToTheStep) {
  const JobProfile profile = ProfileOf(Job(400));
  EXPECT_EQ(profile.steps, 3);
  EXPECT_NEAR(profile.mean_ms(), profile.runs.front().at("mean_step_ms").value, 1e-9);
  EXPECT_NEAR(profile.PartMs(StepPart::kCompute), 0.5, 1e-9);
  double phases = 0;
  for (const double ms : profile.phases_ms) phases += ms;
  EXPECT_NEAR(phases, profile.mean_ms(), 1e-9);
  ASSERT_EQ(profile.operators.size(), 2U);
  EXPECT_EQ(profile.operators[0].name, "aten::mm");
  EXPECT_NEAR(profile.operators[0].exposed_ms, 0.4, 1e-9);
  EXPECT_EQ(profile.kernels[0].inside, "aten::mm");
  EXPECT_EQ(profile.kernels[0].calls, 1);
}

TEST(JobProfileTest, TheAccountSumsToTheChangeOfTheMedian) {
  const JobDiff diff = Compare(ProfileOf(Job(400)), ProfileOf(Job(600)), {});
  double sum = 0;
  for (const AccountRow& row : diff.account) sum += row.change_ms();
  EXPECT_NEAR(sum, diff.step.delta, 1e-9);
  for (const RowChange& row : diff.operators)
    EXPECT_NEAR(row.by_count_ms + row.by_time_ms, row.ms.delta, 1e-9) << row.name;
}

TEST(JobProfileTest, AnotherKernelOfTheSameOperatorIsASwap) {
  const JobDiff diff =
      Compare(ProfileOf(Job(400)), ProfileOf(Job(300, "ampere_h16816gemm_128x64_nn")), {});
  ASSERT_EQ(diff.swaps.size(), 1U);
  EXPECT_EQ(diff.swaps[0].operator_name, "aten::mm");
  EXPECT_NEAR(diff.swaps[0].gone_ms, 0.4, 1e-9);
  EXPECT_NEAR(diff.swaps[0].fresh_ms, 0.3, 1e-9);
  EXPECT_EQ(diff.kernels[0].state, RowChange::State::kGone);
}

TEST(JobProfileTest, RowsInTheRestOfABaselineAreNotNew) {
  JobProfile baseline = ProfileOf(Job(400));
  KeepLargest(1, baseline);
  EXPECT_EQ(baseline.other_operators.rows, 1);
  EXPECT_NEAR(baseline.other_operators.ms, 0.1, 1e-9);
  const JobDiff diff = Compare(baseline, ProfileOf(Job(400)), {});
  ASSERT_EQ(diff.operators.size(), 1U);
  EXPECT_EQ(diff.operators[0].state, RowChange::State::kChanged);
}

TEST(JobProfileTest, RepeatedRunsAreMeans) {
  const JobProfile joined = JoinRuns({ProfileOf(Job(400)), ProfileOf(Job(600))});
  EXPECT_EQ(joined.runs.size(), 2U);
  EXPECT_EQ(joined.steps, 6);
  EXPECT_NEAR(joined.PartMs(StepPart::kCompute), 0.6, 1e-9);
  ASSERT_EQ(joined.operators.size(), 2U);
  EXPECT_NEAR(joined.operators[0].ms.value, 0.5, 1e-9);
  EXPECT_EQ(joined.operators[0].calls, 1);
}

TEST(JobProfileTest, RanksAreMeansAndTheSlowestIsKept) {
  JobProfile first = ProfileOf(Job(400)), second = ProfileOf(Job(600));
  first.verdict = second.verdict = "gpu-compute";
  first.runs.front()["memory_peak_mb"] = {.value = 10, .error = 0, .freedom = 1};
  second.runs.front()["memory_peak_mb"] = {.value = 30, .error = 0, .freedom = 1};
  second.runs.front().erase("operators");
  const JobProfile job = JoinRanks({{5, second}, {0, first}});
  ASSERT_EQ(job.runs.size(), 1U);
  const RunFigures& figures = job.runs.front();
  EXPECT_NEAR(figures.at("compute_ms").value, 0.6, 1e-9);
  EXPECT_NEAR(figures.at("busiest_rank_compute_ms").value, 0.7, 1e-9);
  EXPECT_EQ(figures.at("memory_peak_mb").value, 30);
  EXPECT_FALSE(figures.contains("operators")) << "one rank does not tell";
  EXPECT_EQ(job.steps, 3);
  EXPECT_EQ(FactOf(job, "ranks"), "0, 5");
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[1].rank, 5);
  const Imbalance imbalance = ImbalanceOf(job).value();
  EXPECT_EQ(imbalance.busiest, 5);
  EXPECT_NEAR(imbalance.ms, 0.1, 1e-9);
  EXPECT_NEAR(job.operators[0].ms.value, 0.5, 1e-9) << "a rank";
  const JobProfile twice = JoinRuns({job, job});
  EXPECT_EQ(twice.runs.size(), 2U);
  EXPECT_NEAR(twice.ranks[1].compute_ms, 0.7, 1e-9);
  EXPECT_NEAR(ImbalanceOf(twice)->ms, 0.1, 1e-9);
}

TEST(JobProfileTest, RanksAreAlikeAndAFactSaysWhereTheyAreNot) {
  JobProfile a = ProfileOf(Job(400)), b = a;
  a.facts = {{"sm_clock", "1755 MHz"}, {"gpu", "NVIDIA H100"}};
  b.facts = {{"sm_clock", "1740 MHz"}, {"gpu", "NVIDIA H200"}};
  const JobProfile job = JoinRanks({{0, a}, {1, b}});
  EXPECT_EQ(FactOf(job, "sm_clock"), "1755 MHz") << "the same, as far as it is measured";
  EXPECT_EQ(FactOf(job, "gpu"), "differs between ranks: NVIDIA H100; NVIDIA H200");
}

TEST(JobProfileTest, WhatWasNotRecordedIsNoFigure) {
  StoreBuilder builder;
  for (std::int64_t step = 0; step < 3; ++step) {
    builder.Step(step, kMain, 1000 * step, 990);
    builder.Op("aten::mm", kMain, 1000 * step + 10, 5);
  }
  const RunFigures host = ProfileOf(builder).runs.front();
  EXPECT_FALSE(host.contains("compute_ms"));
  EXPECT_FALSE(host.contains("gpu_tasks"));
  EXPECT_TRUE(host.contains("data_wait_ms"));
  EXPECT_TRUE(host.contains("operators"));
}

TEST(JobProfileTest, WithoutStepsThereIsNothingToCompare) {
  StoreBuilder builder;
  builder.Launch("aten::mm", kMain, 10, kGemm, kStream, 50, 100);
  const std::unique_ptr<TraceStore> store = builder.Build();
  NameFacts names(*store, TestReferenceData());
  const Result<AnalyzedTrace> trace = AnalyzeTrace(*store, TestReferenceData(), names, {});
  ASSERT_TRUE(trace.ok());
  const Result<JobProfile> profile = MakeProfile(*store, names, trace.value());
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.status().code(), StatusCode::kNoAnswer);
}

TEST(JobProfileTest, LongNamesKeepTheirDifference) {
  const std::string a(300, 'x');
  EXPECT_LE(NameInProfile(a).size(), 160U);
  EXPECT_NE(NameInProfile(a), NameInProfile(a + "y"));
  EXPECT_EQ(NameInProfile(NameInProfile(a)), NameInProfile(a));
  EXPECT_EQ(NameInProfile("aten::mm"), "aten::mm");
  EXPECT_TRUE(IsCutName(NameInProfile(a)));
  EXPECT_FALSE(IsCutName(a));
  EXPECT_FALSE(IsCutName("aten::mm"));
}

TEST(BaselineFileTest, NamesAreNoPaths) {
  for (const char* fine : {"main", "v1.2", "a-b_c", "0"}) EXPECT_TRUE(CheckBaselineName(fine).ok());
  for (const char* wrong :
       {"", ".", "..", "../x", "a/b", ".hidden", "-x", "a b", "a\n", "\xC3\xA4"})
    EXPECT_EQ(CheckBaselineName(wrong).code(), StatusCode::kUsage) << wrong;
  EXPECT_FALSE(CheckBaselineName(std::string(65, 'a')).ok());
}

TEST(BaselineFileTest, BrokenFilesSayWhatIsWrong) {
  for (const char* text : {"", "[]", "{", "{}", R"({"schema": "headroom.baseline/2"})",
                           R"({"schema": "headroom.baseline/1", "name": 7})"}) {
    const Result<JobProfile> profile = ParseBaseline({"b.json", text});
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_EQ(profile.status().code(), StatusCode::kBadInput);
    EXPECT_NE(profile.status().message().find("b.json"), std::string::npos);
  }
}

}  // namespace job_profile_test
}  // namespace headroom
