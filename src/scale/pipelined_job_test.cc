// Steps of 110 ms, including an update of 10 ms, over links of 1 byte per ns without latency.
#include "scale/pipelined_job.h"

#include <gtest/gtest.h>

namespace headroom {
namespace pipelined_job_test {

constexpr double kMs = 1e6;  ///< Bytes that a link sends in a millisecond.

class OneBatch final : public ScalableJob {
 public:
  ScaledStep OnOneGpu() override { return On(Topology(), Placement(), std::nullopt); }
  ScaledStep On(const Topology& /*topology*/, const Placement& placement,
                std::optional<std::int64_t> samples) override {
    asked = placement;
    ScaledStep step;
    const double ms = samples ? 10 + 100 * static_cast<double>(*samples) / 8 : 110;
    step.step_ms = {.low = ms, .mid = ms, .high = ms};
    step.without_latency_ms = step.without_bytes_ms = ms;
    return step;
  }
  std::optional<std::int64_t> samples() const override { return 8; }
  std::optional<double> deviation() const override { return std::nullopt; }
  double loader_share() const override { return 0; }

  Placement asked;
};

class PipelinedJobTest : public testing::Test {
 protected:
  static Topology Links() {
    Topology topology;
    topology.between = {.bytes_per_ns = 1, .latency = DurationNs(0)};
    return topology;
  }
  ScaledStep Ask(const ModelParallel& split, const PipelineStages& stages, std::int64_t gpus,
                 std::optional<std::int64_t> samples = std::nullopt) {
    PipelinedJob job(job_, {.split = split, .stages = stages, .bucket_bytes = 25 * kMs});
    return job.On(Links(), {.gpus = gpus, .nodes = gpus}, samples);
  }

  OneBatch job_;
};

const PipelineStages kStages = {.largest_share = 0.3,
                                .layer_bytes = 2 * kMs,
                                .update_ms = 10,
                                .update_share = 0.5,
                                .one_gpu_update_ms = 10};

TEST_F(PipelinedJobTest, OneBatchPassesAllStages) {
  const ScaledStep step = Ask({.stages = 4}, kStages, 4);
  // The step has forward and backward of all stages, three borders each way, and half of the
  // update.
  EXPECT_NEAR(step.step_ms.mid, 100 + 6 * 2 + 5, 1e-6);
  EXPECT_NEAR(step.step_ms.low, 100 + 0.66 * 12 + 5, 1e-6);
  EXPECT_NEAR(step.step_ms.high, 100 + 1.34 * 12 + 5, 1e-6);
  EXPECT_NEAR(step.limits.exposed_ms, 12, 1e-6);
  EXPECT_NEAR(step.bubble_ms, 70, 1e-6);
  EXPECT_NEAR(step.without_bytes_ms, 105, 1e-6);
  EXPECT_NEAR(step.without_latency_ms, step.step_ms.mid, 1e-6);
}

TEST_F(PipelinedJobTest, FurtherBatchesTakeTheLongestStage) {
  EXPECT_NEAR(Ask({.stages = 4, .micro_batches = 8}, kStages, 4).step_ms.mid, 100 + 7 * 30 + 12 + 5,
              1e-6);
  // If sending takes longer than the longest stage, sending determines the time.
  PipelineStages slow = kStages;
  slow.layer_bytes = 40 * kMs;
  EXPECT_NEAR(Ask({.stages = 4, .micro_batches = 8}, slow, 4).step_ms.mid,
              100 + 7 * 40 + 6 * 40 + 5, 1e-6);
}

TEST_F(PipelinedJobTest, ReplicasExchangeBehindTheLastBackward) {
  PipelineStages stages = kStages;
  stages.gradients = {10 * kMs, 20 * kMs, 30 * kMs};
  // A ring of two sends exactly the bytes of the tensor.
  EXPECT_NEAR(Ask({.stages = 4}, stages, 8).step_ms.mid, 100 + 12 + 5 + 60, 1e-6);
}

TEST_F(PipelinedJobTest, BucketsAreWholeGradients) {
  PipelineStages stages = kStages;
  stages.gradients = std::vector<double>(8, 10 * kMs);
  // Latency adds time per message: two messages per bucket in a ring of two. Three gradients fill
  // one bucket.
  Topology slow = Links();
  slow.between.latency = DurationNs(1'000'000);
  const auto step_ms = [&](double bucket_bytes) {
    PipelinedJob job(job_,
                     {.split = {.stages = 4}, .stages = stages, .bucket_bytes = bucket_bytes});
    return job.On(slow, {.gpus = 8, .nodes = 8}, std::nullopt).step_ms.mid;
  };
  const double sends = 6 * 3;
  EXPECT_NEAR(step_ms(25 * kMs), 100 + sends + 5 + 80 + 3 * 2, 1e-6);
  EXPECT_NEAR(step_ms(0), 100 + sends + 5 + 80 + 8 * 2, 1e-6);
}

TEST_F(PipelinedJobTest, WhatItSays) {
  EXPECT_EQ(Ask({.stages = 4, .micro_batches = 2}, kStages, 4).why,
            "4 stages, the longest of which takes 30.0 % of a micro-batch's forward and backward "
            "time; 2 micro-batches of 8 samples");
  EXPECT_EQ(Ask({.stages = 4}, kStages, 4, 1).why,
            "4 stages, the longest of which takes 30.0 % of a micro-batch's forward and backward "
            "time; one micro-batch of 1 sample");
}

TEST_F(PipelinedJobTest, ExposedTransfersArePartOfAll) {
  for (const std::int64_t batches : {1, 8}) {
    const ScaledStep step = Ask({.stages = 4, .micro_batches = batches}, kStages, 4);
    EXPECT_LE(step.limits.exposed_ms, step.limits.transfers_ms);
  }
}

TEST_F(PipelinedJobTest, FewerSamplesAreSentFaster) {
  EXPECT_NEAR(Ask({.stages = 4}, kStages, 4, 4).step_ms.mid, 50 + 6 + 5, 1e-6);
}

TEST_F(PipelinedJobTest, TheBatchIsThatOfTheGpusThatShareLayers) {
  Ask({.tensor = 2, .stages = 4}, kStages, 16);
  EXPECT_EQ(job_.asked.gpus, 2);
}

}  // namespace pipelined_job_test
}  // namespace headroom
