#include "whatif/calibrated_job.h"

#include <gtest/gtest.h>

#include <memory>

#include "analysis/test_trace.h"
#include "whatif/forecast.h"

namespace headroom {
namespace calibrated_job_test {

/// Ten steps of 20 us on the host and 70 us on the GPU, with `between` us of work between their
/// annotations.
std::unique_ptr<TraceStore> TenSteps(std::int64_t between) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (std::int64_t step = 0, at = 0; step < 10; ++step, at += 20 + between) {
    b.Step(step, kMain, at, 20);
    b.Launch("aten::mm", kMain, at + 5, kGemm, kStream, at + 12, 70);
  }
  return b.Build();
}

CalibratedJob JobOf(const TraceStore& store, const AnalysisOptions& options = {}) {
  Result<CalibratedJob> made =
      MakeCalibratedJob(store, TestReferenceData(), options, {}, std::nullopt);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

TEST(CalibratedJobTest, IsOfAllSteps) {
  const std::unique_ptr<TraceStore> store = TenSteps(50);
  const CalibratedJob made = JobOf(*store);
  EXPECT_EQ(made.note, "");
  EXPECT_EQ(made.job->graph().steps, 10);
}

TEST(CalibratedJobTest, FallsBackToTheReportsSteps) {
  // The recording lacks the host's work before the first step. Without this work, the step's GPU
  // tasks queue, and the second step begins 50 us late.
  const std::unique_ptr<TraceStore> store = TenSteps(90);
  const CalibratedJob made = JobOf(*store);
  EXPECT_EQ(
      made.note,
      "forecasts use steps 1 to 9, as the report does: the replay of all steps is off by -5.2 "
      "%");
  EXPECT_EQ(made.job->graph().steps, 9);
  EXPECT_EQ(Forecaster(*made.job).WhyNone(), "");
}

TEST(CalibratedJobTest, IsOfTheStepsThatTheUserNames) {
  const std::unique_ptr<TraceStore> store = TenSteps(90);
  AnalysisOptions options;
  options.first_step = 0;
  options.last_step = 9;
  const CalibratedJob made = JobOf(*store, options);
  EXPECT_EQ(made.job->graph().steps, 10);
  EXPECT_NE(Forecaster(*made.job).WhyNone(), "");
}

}  // namespace calibrated_job_test
}  // namespace headroom
