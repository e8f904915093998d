#include "whatif/finding_forecasts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>

#include "analysis/test_trace.h"

namespace headroom {
namespace finding_forecasts_test {

using Fill = std::function<void(StoreBuilder&, std::int64_t)>;

/// Six steps of 1000 us on the host. `fill` adds the contents of the step that begins at the given
/// time.
StoreBuilder SixSteps(const Fill& fill) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int i = 0; i < 6; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    fill(b, i * 1000);
  }
  return b;
}

/// A report with its forecasts, on a machine where recording costs nothing.
TraceReport Forecasted(const StoreBuilder& builder,
                       std::optional<double> measured_step_ms = std::nullopt) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  Result<TraceReport> report = Analyze(*store, TestReferenceData(), {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  const Status status = ForecastFindings(
      *store, TestReferenceData(),
      {.calibration = {}, .from = "a test", .measured_step_ms = measured_step_ms}, report.value());
  EXPECT_TRUE(status.ok()) << status.message();
  return std::move(report).value();
}

const Finding* Found(const TraceReport& report, std::string_view id) {
  const auto it = std::find_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& finding) { return finding.id == id; });
  return it == report.findings.end() ? nullptr : &*it;
}

/// The loader takes 300 us of the step, and the GPU idles meanwhile. Two kernels of 100 us follow,
/// the second launched 200 us after the first.
void LoaderThenKernels(StoreBuilder& b, std::int64_t at) {
  b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, at + 10,
               300);
  b.Launch("aten::mm", kMain, at + 400, kGemm, kStream, at + 410, 100);
  b.Launch("aten::mm", kMain, at + 600, kGemm, kStream, at + 610, 100);
}

TEST(FindingForecastsTest, SavesWhatTheReplaySaysNotWhatTheCauseHolds) {
  const TraceReport report = Forecasted(SixSteps(LoaderThenKernels));
  ASSERT_TRUE(report.engine);
  EXPECT_EQ(report.engine->error, "");
  EXPECT_EQ(report.engine->first_step, 0);
  EXPECT_EQ(report.engine->last_step, 5);
  EXPECT_EQ(report.engine->calibration, "a test");
  const Finding* wait = Found(report, "data-wait");
  ASSERT_NE(wait, nullptr);
  ASSERT_TRUE(wait->saves_ms);
  EXPECT_NEAR(wait->saves_ms->mid, 0.3, 1e-9);
  EXPECT_EQ(wait->saves_ms->low, 0);
  EXPECT_EQ(wait->saves_note, "at most: if every batch were ready in time");
  EXPECT_EQ(wait->scenario, "data-loading");
  // A CUDA graph would also save the loader's wait, but this finding covers only the late launches.
  const Finding* late = Found(report, "late-launches");
  ASSERT_NE(late, nullptr);
  ASSERT_TRUE(late->saves_ms);
  ASSERT_TRUE(late->idle);
  EXPECT_DOUBLE_EQ(late->saves_ms->mid, late->idle->ms());
  EXPECT_LT(late->saves_ms->mid, 0.5);
  EXPECT_EQ(late->scenario, "") << "whatif cuda-graph would show another figure";
}

TEST(FindingForecastsTest, AVerdictWhoseCauseIsNotWorthRemovingIsNotSure) {
  // The host needs the whole step, with or without communication.
  const TraceReport report = Forecasted(SixSteps([](StoreBuilder& b, std::int64_t at) {
    b.Launch("aten::mm", kMain, at + 10, kGemm, kStream, at + 20, 200);
    b.Launch("nccl:all_reduce", kMain, at + 230, kAllReduce, kStream, at + 240, 600);
    b.Op("aten::sort", kMain, at + 300, 690);
  }));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kCommunication);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "exposed-communication");
  EXPECT_NEAR(report.findings[0].saves_ms->high, 0, 0.03);
  EXPECT_EQ(report.bottleneck.confidence, "low");
  EXPECT_NE(report.bottleneck.evidence.back().find("replay"), std::string::npos);
}

TEST(FindingForecastsTest, CorrectedMedianIsTheRecordedOneWhereRecordingCostsNothing) {
  const TraceReport report = Forecasted(SixSteps(LoaderThenKernels));
  EXPECT_EQ(report.steps.corrected_p50, report.steps.p50);
  EXPECT_DOUBLE_EQ(*report.steps.profiler_overhead_pct, 0);
}

TEST(FindingForecastsTest, AMeasuredStepSetsTheHostsSpeed) {
  const TraceReport report = Forecasted(SixSteps(LoaderThenKernels), 0.8);
  EXPECT_NEAR(report.engine->corrected_step_ms->mid, 0.8, 0.001);
  EXPECT_NEAR(*report.steps.profiler_overhead_pct, 20, 0.2);
  EXPECT_EQ(report.engine->calibration, "the measured step of 0.8 ms");
  // All host time shrinks, including the loader's.
  EXPECT_NEAR(Found(report, "data-wait")->saves_ms->mid, 0.24, 0.005);
}

TEST(FindingForecastsTest, OrderIsBySavingsBehindWhatTheVerdictNames) {
  // Copies take 400 us, but they hide host work that needs nearly the whole step. The loader's 300
  // us are exposed.
  const TraceReport report = Forecasted(SixSteps([](StoreBuilder& b, std::int64_t at) {
    b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, at + 10,
                 300);
    b.Call("cudaMemcpyAsync", kMain, at + 330, 5, at);
    b.Copy(CopyKind::kHostToDevice, kStream, at + 340, 400, at);
    b.Launch("aten::mm", kMain, at + 960, kGemm, kStream, at + 970, 30);
  }));
  const Finding* copies = Found(report, "exposed-copies");
  const Finding* wait = Found(report, "data-wait");
  ASSERT_NE(copies, nullptr);
  ASSERT_NE(wait, nullptr);
  EXPECT_GT(copies->share_pct, wait->share_pct);
  EXPECT_NEAR(copies->saves_ms->mid, 0.005, 1e-9);  // The host's call.
  EXPECT_LT(wait, copies);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kInput);
  EXPECT_EQ(report.findings[0].id, "data-wait");
  for (std::size_t i = 2; i < report.findings.size(); ++i)
    EXPECT_GE(report.findings[i - 1].saves_ms->mid, report.findings[i].saves_ms->mid);
}

/// The GPU falls further behind a host of 100 us per step: 900 us of `other`, then a kernel of 100
/// us.
StoreBuilder BehindTheHost(const std::function<void(StoreBuilder&, int, std::int64_t)>& other) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int i = 0; i < 6; ++i) {
    const std::int64_t host = 100 * i, gpu = 1000 * i + 20;
    b.Step(i, kMain, host, 100);
    other(b, i, gpu);
    b.Launch("aten::mm", kMain, host + 20, kGemm, kStream, gpu + 900, 100);
  }
  return b;
}

TEST(FindingForecastsTest, CopiesThatHoldTheStepSaveTheirTime) {
  const TraceReport report = Forecasted(BehindTheHost([](StoreBuilder& b, int i, std::int64_t gpu) {
    b.Call("cudaMemcpyAsync", kMain, 100 * i + 5, 5, i);
    b.Copy(CopyKind::kHostToDevice, kStream, gpu, 900, i);
  }));
  const Finding* copies = Found(report, "exposed-copies");
  ASSERT_NE(copies, nullptr);
  ASSERT_TRUE(copies->saves_ms);
  EXPECT_NEAR(copies->saves_ms->mid, 0.9, 1e-9);
  EXPECT_EQ(copies->scenario, "");
  EXPECT_EQ(copies->saves_note, "at most: without copies to the GPU");
}

TEST(FindingForecastsTest, CollectivesWhoseWaitIsNotRecordedSaveTheirTime) {
  // Only the gap in the compute stream shows that the kernel waits for the other stream.
  const TraceReport report = Forecasted(BehindTheHost([](StoreBuilder& b, int i, std::int64_t gpu) {
    b.Launch("nccl:all_reduce", kMain, 100 * i + 5, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
             kStream + 1, gpu, 900);
  }));
  const Finding* exposed = Found(report, "exposed-communication");
  ASSERT_NE(exposed, nullptr);
  ASSERT_TRUE(exposed->saves_ms);
  // The cause of the first kernel's delay is unknown.
  EXPECT_NEAR(exposed->saves_ms->mid, 0.9, 0.02);
}

TEST(FindingForecastsTest, StepsFarSlowerAreNotReplayed) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  std::int64_t at = 0;
  for (const std::int64_t host : {1000, 1000, 1000, 4000, 1000, 1000}) {
    b.Step(at / 1000, kMain, at, host);
    b.Launch("aten::mm", kMain, at + host - 100, kGemm, kStream, at + host - 90, 90);
    at += host;
  }
  const TraceReport report = Forecasted(b);
  const Finding* outliers = Found(report, "outlier-steps");
  ASSERT_NE(outliers, nullptr);
  ASSERT_TRUE(outliers->saves_ms);
  EXPECT_NEAR(outliers->saves_ms->mid, 0.5, 0.001);  // 3000 us over six steps.
  EXPECT_NE(outliers->saves_note.find("not replayed"), std::string::npos);
}

TEST(FindingForecastsTest, WithoutLaunchesItSaysWhyNot) {
  const TraceReport report = Forecasted(SixSteps([](StoreBuilder& b, std::int64_t at) {
    b.Op("aten::mm", kMain, at, 900);
    b.Kernel(kGemm, kStream, at + 100, 500);
  }));
  ASSERT_TRUE(report.engine);
  EXPECT_NE(report.engine->error.find("nothing to replay"), std::string::npos);
  EXPECT_FALSE(report.steps.corrected_p50);
  EXPECT_FALSE(report.steps.profiler_overhead_pct);
  for (const Finding& finding : report.findings) {
    EXPECT_FALSE(finding.saves_ms) << finding.id;
    EXPECT_NE(finding.saves_note.find("nothing to replay"), std::string::npos) << finding.id;
  }
}

TEST(FindingForecastsTest, AJobOnTheCpuHasForecasts) {
  StoreBuilder host_only;
  for (int i = 0; i < 3; ++i) {
    host_only.Step(i, kMain, 1000 * i, 1000);
    host_only.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain,
                         1000 * i, 400);
    host_only.Op("aten::mm", kMain, 1000 * i + 450, 500);
  }
  const TraceReport report = Forecasted(host_only);
  ASSERT_TRUE(report.engine);
  EXPECT_EQ(report.engine->error, "");
  const Finding* wait = Found(report, "data-wait");
  ASSERT_NE(wait, nullptr);
  ASSERT_TRUE(wait->saves_ms);
  EXPECT_NEAR(wait->saves_ms->mid, 0.4, 0.01);
  EXPECT_EQ(wait->scenario, "data-loading");
}

TEST(FindingForecastsTest, WithoutStepsTheRecordingIsReplayed) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 100);
  b.Launch("aten::mm", kMain, 500, kAdd, kStream, 510, 100);
  const TraceReport report = Forecasted(b);
  ASSERT_TRUE(report.engine);
  EXPECT_TRUE(report.engine->of_stretch);
  EXPECT_EQ(report.engine->error, "");
  EXPECT_FALSE(report.steps.corrected_p50) << "there is no step";
  ASSERT_FALSE(report.findings.empty());
  EXPECT_TRUE(report.findings[0].saves_ms);
  EXPECT_LE(report.findings[0].saves_ms->mid, 0.41) << "no more than the idle time";
}

}  // namespace finding_forecasts_test
}  // namespace headroom
