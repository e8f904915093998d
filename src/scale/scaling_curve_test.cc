#include "scale/scaling_curve.h"

#include <gtest/gtest.h>

#include "scale/expected_maximum.h"

namespace headroom {
namespace scaling_curve_test {

/// A job of 100 ms per step on one GPU. The test sets the step on several GPUs.
class FakeJob final : public ScalableJob {
 public:
  double exposed_ms = 0, hidden_ms = 0, latency_ms = 0, copies_ms = 0, loader = 0;
  std::optional<std::int64_t> batch = 8;
  std::optional<double> varies = 0;
  std::int64_t recorded = 1;
  std::vector<std::optional<std::int64_t>> asked;

  ScaledStep OnOneGpu() override { return Step(0, 0); }
  ScaledStep On(const Topology&, const Placement& placement,
                std::optional<std::int64_t> samples) override {
    asked.push_back(samples);
    ScaledStep step = placement.gpus == 1 ? Step(0, 0) : Step(exposed_ms, latency_ms);
    if (placement.gpus == 1) return step;
    step.limits.transfers_ms += hidden_ms;
    for (double* ms : {&step.step_ms.low, &step.step_ms.mid, &step.step_ms.high,
                       &step.without_latency_ms, &step.without_bytes_ms})
      *ms += copies_ms;
    return step;
  }
  std::optional<std::int64_t> samples() const override { return batch; }
  std::optional<double> deviation() const override { return varies; }
  double loader_share() const override { return loader; }
  std::int64_t recorded_gpus() const override { return recorded; }

 private:
  static ScaledStep Step(double exposed, double latency) {
    ScaledStep step;
    const double all = 100 + exposed;
    step.step_ms = {.low = all, .mid = all, .high = all};
    step.limits = {.host_ms = 50, .gpu_ms = 100, .exposed_ms = exposed, .transfers_ms = exposed};
    step.without_latency_ms = all - latency;
    step.without_bytes_ms = 100 + latency;
    return step;
  }
};

std::vector<ScalingPoint> Curve(FakeJob& job, const std::vector<std::int64_t>& gpus,
                                bool strong = false, const ScalingCosts& costs = {}) {
  std::vector<Placement> placements;
  placements.reserve(gpus.size());
  for (const std::int64_t n : gpus) placements.push_back({.gpus = n, .nodes = n});
  return ScalingCurve(job, Topology(), placements, strong, costs);
}

TEST(ScalingCurveTest, EachGpuKeepsItsBatch) {
  FakeJob job;
  job.exposed_ms = 25;
  const std::vector<ScalingPoint> points = Curve(job, {1, 4});
  EXPECT_DOUBLE_EQ(points[0].efficiency, 1);
  EXPECT_DOUBLE_EQ(*points[0].samples_per_s, 80);
  EXPECT_DOUBLE_EQ(points[1].efficiency, 0.8);
  EXPECT_DOUBLE_EQ(*points[1].samples_per_s, 4 * 8 / 0.125);
  EXPECT_EQ(job.asked, (std::vector<std::optional<std::int64_t>>{std::nullopt, std::nullopt}));
}

TEST(ScalingCurveTest, AStrongOneSharesItOut) {
  FakeJob job;
  const std::vector<ScalingPoint> points = Curve(job, {1, 3, 16}, /*strong=*/true);
  EXPECT_EQ(job.asked, (std::vector<std::optional<std::int64_t>>{8, 3}));
  EXPECT_DOUBLE_EQ(*points[1].samples_per_s, 80);  // The fake's step does not shrink.
  EXPECT_DOUBLE_EQ(points[1].efficiency, 1.0 / 3);
  EXPECT_EQ(points[2].no_answer, "fewer samples per step (8) than GPUs (16)");
  job.batch.reset();
  EXPECT_NE(Curve(job, {2}, true)[0].no_answer.find("unknown"), std::string::npos);
  EXPECT_FALSE(Curve(job, {2})[0].samples_per_s);
}

TEST(ScalingCurveTest, NamesWhatCostsMost) {
  FakeJob job;
  const auto limit = [&] { return Curve(job, {4})[0].limit; };
  EXPECT_EQ(limit(), ScalingLimit::kGpu);
  job.loader = 0.2;
  EXPECT_EQ(limit(), ScalingLimit::kLoader);
  // The largest loss, however small, unless it rounds to nothing.
  job.exposed_ms = 1;
  EXPECT_EQ(limit(), ScalingLimit::kBandwidth);
  job.copies_ms = 2;
  EXPECT_EQ(limit(), ScalingLimit::kBuckets);
  job.copies_ms = 0;
  job.exposed_ms = 0.1;
  EXPECT_EQ(limit(), ScalingLimit::kLoader);
  job.exposed_ms = 20;
  EXPECT_EQ(limit(), ScalingLimit::kBandwidth);
  job.latency_ms = 15;
  EXPECT_EQ(limit(), ScalingLimit::kLatency);
  job.varies = 0.3;
  EXPECT_EQ(limit(), ScalingLimit::kStraggler);
}

TEST(ScalingCurveTest, AllWaitForTheSlowest) {
  FakeJob job;
  job.exposed_ms = 50;
  job.varies = 0.02;
  const std::vector<ScalingPoint> points = Curve(job, {1, 1000});
  EXPECT_NEAR(points[0].straggler_ms, 0, 1e-6);
  // The wait is proportional to the 100 ms of computation.
  const double wait = 2 * ExpectedMaximumOfNormals(1000);
  EXPECT_NEAR(points[1].straggler_ms, wait, 1e-9);
  EXPECT_NEAR(points[1].step_ms.low, 150 + wait / 2, 1e-9);
  EXPECT_NEAR(points[1].step_ms.mid, 150 + wait, 1e-9);
  EXPECT_NEAR(points[1].step_ms.high, 150 + 2 * wait, 1e-9);
}

TEST(ScalingCurveTest, WithoutEnoughStepsTheyVaryAsUsual) {
  FakeJob job;
  job.varies.reset();
  EXPECT_NEAR(Curve(job, {8})[0].straggler_ms, 2 * ExpectedMaximumOfNormals(8), 1e-9);
}

TEST(ScalingCurveTest, ComputationIsSlowerBesideCollectives) {
  FakeJob job;
  job.hidden_ms = 50;
  const ScalingPoint point = Curve(job, {8})[0];
  EXPECT_NEAR(point.overlap_ms, 0.08 * 50, 1e-9);
  EXPECT_NEAR(point.step_ms.mid, 104, 1e-9);
  EXPECT_LT(point.least_efficiency, point.efficiency);
  EXPECT_GT(point.most_efficiency, point.efficiency);
  // A recording of several GPUs contains the slowdown.
  job.recorded = 8;
  EXPECT_EQ(Curve(job, {8})[0].overlap_ms, 0);
  job.recorded = 1;
  job.hidden_ms = 90;
  EXPECT_EQ(Curve(job, {8})[0].limit, ScalingLimit::kOverlap);
}

TEST(ScalingCurveTest, NoScheduleBeatsIndependentGpus) {
  FakeJob job;
  job.exposed_ms = -10;
  const ScalingPoint point = Curve(job, {4})[0];
  EXPECT_EQ(point.efficiency, 1);
  EXPECT_EQ(point.step_ms.mid, 100);
  EXPECT_EQ(*point.samples_per_s, 4 * 80);
}

TEST(ScalingCurveTest, SmallerBatchesThatTakeLongerPerSampleLimit) {
  FakeJob job;  // The fake's step does not shrink with its batch.
  EXPECT_EQ(Curve(job, {4}, /*strong=*/true)[0].limit, ScalingLimit::kGpu);
}

TEST(ScalingCurveTest, TheGpusOfAMachineShareItsLoader) {
  FakeJob job;  // Eight samples in 100 ms per GPU.
  const ScalingCosts costs = {.loader_samples_per_s = 200};
  const Placement one_machine = {.gpus = 4, .nodes = 1}, two_machines = {.gpus = 4, .nodes = 2};
  const std::vector<ScalingPoint> points =
      ScalingCurve(job, Topology(), {one_machine, two_machines}, false, costs);
  EXPECT_DOUBLE_EQ(points[0].step_ms.mid, 4 * 8 / 0.2);
  EXPECT_DOUBLE_EQ(points[0].loader_ms, 60);
  EXPECT_EQ(points[0].limit, ScalingLimit::kLoader);
  EXPECT_EQ(points[1].loader_ms, 0);
  EXPECT_DOUBLE_EQ(points[1].step_ms.mid, 100);
}

}  // namespace scaling_curve_test
}  // namespace headroom
