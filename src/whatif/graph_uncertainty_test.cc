#include "whatif/graph_uncertainty.h"

#include <gtest/gtest.h>

#include "whatif/test_forecast.h"

namespace headroom {
namespace graph_uncertainty_test {

/// Three steps of 1000 us. Each has two kernels of 300 us, which start 200 us late for no recorded
/// reason. The host is far ahead.
StoreBuilder WithLateStart() {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int host = 100 * step, gpu = 2'000 + 1'000 * step;
    b.Step(step, kMain, host, 50);
    b.Launch("aten::mm", kMain, host + 2, kGemm, kStream, gpu + 200, 300);
    b.Launch("aten::mm", kMain, host + 10, kGemm, kStream, gpu + 700, 300);
  }
  return b;
}

TEST(GraphUncertaintyTest, LateStartsThatNothingExplainsMayFollowThePace) {
  TestForecasts job(WithLateStart());
  EXPECT_NEAR(job.StepUs(), 1'000, 1);
  const Forecast faster = job.Ask("gpu-speed:factor=2");
  // 600 us of kernels become 300 us, and 400 us of late starts remain.
  EXPECT_NEAR(faster.step_ms.mid * 1e3, 700, 1);
  // Lower end: the late starts are 0.7 times as long.
  EXPECT_NEAR(faster.step_ms.low * 1e3, 300 + 0.7 * 400, 1);
  EXPECT_LT(faster.step_ms.high * 1e3, 710);
}

TEST(GraphUncertaintyTest, AnUnchangedJobIsNotDoubted) {
  TestForecasts job(WithLateStart());
  const Forecast same = job.Ask("gpu-speed:factor=1");
  EXPECT_NEAR(same.step_ms.low * 1e3, 1'000, 10);
  EXPECT_NEAR(same.step_ms.high * 1e3, 1'000, 10);
}

}  // namespace graph_uncertainty_test
}  // namespace headroom
