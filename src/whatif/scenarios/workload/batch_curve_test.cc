#include "whatif/scenarios/workload/batch_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "whatif/job/inserted_kernels.h"
#include "whatif/test_job.h"
#include "whatif/test_linear_layers.h"

namespace headroom {
namespace batch_curve_test {

/// A job whose host needs 10 ms per step. Its GPU needs 1 ms per step and 1 ms per sample.
std::vector<BatchPoint> HostThenGpu(const std::vector<std::int64_t>& sizes) {
  std::vector<BatchPoint> points;
  for (const std::int64_t samples : sizes) {
    const double step_ms = std::max(10.0, 1 + static_cast<double>(samples));
    points.push_back({.samples = samples,
                      .step_ms = step_ms,
                      .samples_per_s = 1e3 * static_cast<double>(samples) / step_ms,
                      .memory_delta_bytes = {}});
  }
  return points;
}

TEST(BatchCurveTest, TheKneeIsWhereTwiceTheBatchBringsLittle) {
  // Throughput is 0.4, 0.8, 0.89 (8 of 9 ms), 0.94 and 0.97 per ms. The gain from 8 to 16 is 1.18,
  // from 16 to 32 it is 1.03.
  EXPECT_EQ(FindKnee(HostThenGpu({4, 8, 16, 32, 64})), 16);
}

TEST(BatchCurveTest, AJobThatTheHostPacesAllTheWayHasNone) {
  EXPECT_EQ(FindKnee(HostThenGpu({1, 2, 4, 8})), std::nullopt);
}

TEST(BatchCurveTest, AJobThatIsSaturatedHasItAtItsSmallestBatch) {
  EXPECT_EQ(FindKnee(HostThenGpu({64, 128, 256})), 64);
  EXPECT_EQ(FindKnee({}), std::nullopt);
}

TEST(BatchCurveTest, WhatDoesNotFitIsNoAdvice) {
  std::vector<BatchPoint> points = HostThenGpu({4, 8, 16, 32, 64});
  for (BatchPoint& point : points) point.too_large = point.samples > 16;
  EXPECT_EQ(FindKnee(points), std::nullopt);
}

TEST(BatchCurveTest, HalvesThatAreWholeAndDoubles) {
  EXPECT_EQ(BatchSizesOfCurve(8, 8), (std::vector<std::int64_t>{2, 4, 8, 16, 32, 64, 128}));
  EXPECT_EQ(BatchSizesOfCurve(6, 7), (std::vector<std::int64_t>{3, 6, 7, 12, 24, 48, 96}));
  EXPECT_EQ(BatchSizesOfCurve(1, 5), (std::vector<std::int64_t>{1, 2, 4, 5, 8, 16}));
}

TEST(BatchSizeTest, GradientsAndTheirUpdateDoNotGrow) {
  LinearLayers layers(/*shapes=*/true, /*clipping_us=*/15);
  const Applied applied(layers.Build(), "batch-size:n=64");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size() % 3, 0u);
  const auto end = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 3);
  EXPECT_EQ(*(end - 1), 100) << "the update";
  EXPECT_EQ(*(end - 2), 15) << "clipping";
  EXPECT_EQ(times[1], WithWork(DurationNs(2'000), 2).us()) << "a ReLU of twice the rows";
}

TEST(SamplesPerStepTest, ABiasBeginsNoBatch) {
  JobBuilder products;
  products.Step().Forward("aten::addmm", "[[1024], [64, 512], [512, 1024], [], []]", 1,
                          {{"ampere_sgemm_128x64_tn", 100}});
  EXPECT_EQ(SamplesPerStep(products.Build()), 64);
  // Rows may be tokens: 8 samples of 128 tokens.
  JobBuilder tokens;
  tokens.Step()
      .Forward("aten::addmm", "[[1024], [1024, 512], [512, 1024], [], []]", 1,
               {{"ampere_sgemm_128x64_tn", 100}})
      .Forward("aten::addmm", "[[1024], [1024, 512], [512, 1024], [], []]", 2,
               {{"ampere_sgemm_128x64_tn", 100}})
      .Forward("aten::gelu", "[[8, 128, 1024], []]", 3, {{"vectorized_gelu", 10}});
  EXPECT_EQ(SamplesPerStep(tokens.Build()), 8);
}

}  // namespace batch_curve_test
}  // namespace headroom
