#include "sim/step_scale.h"

#include <gtest/gtest.h>

#include <memory>

namespace headroom {
namespace step_scale_test {

/// Returns a step with a launch and its kernel.
Plan StepWith(std::int64_t kernel_ns) {
  auto shape = std::make_shared<PlanShape>();
  shape->edge_begin = {0, 0, 1};
  shape->from = {1};
  shape->gpu = {0, 1};
  shape->step = {0, 0};
  return {.shape = std::move(shape), .duration = {5, kernel_ns}, .lag = {0}};
}

TEST(StepScaleTest, TellsStepsAsReplayedUnlessTold) {
  EXPECT_EQ(StepScale().Ns(StepWith(1), 5), 5);
}

TEST(StepScaleTest, StepsInALoopShrinkByTheSameFactor) {
  const StepScale scale = StepScale::OfMany(StepWith(1), 90, 100);
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(1), 100), 90);
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(1), 50), 45);
  EXPECT_DOUBLE_EQ(scale.FactorOf(StepWith(1), 50), 0.9);
}

TEST(StepScaleTest, KeepsTheWorkOfTheGpu) {
  const StepScale scale = StepScale::OfMany(StepWith(50), 60, 100);
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(50), 100), 60);
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(50), 55), 50) << "not 33";
  EXPECT_DOUBLE_EQ(scale.FactorOf(StepWith(50), 55), 50.0 / 55);
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(25), 25), 25) << "a faster GPU";
  EXPECT_DOUBLE_EQ(scale.Ns(StepWith(150), 200), 150) << "more work";
  EXPECT_DOUBLE_EQ(StepScale::OfMany(StepWith(70), 60, 100).Ns(StepWith(70), 100), 60)
      << "the step is shorter than the work";
}

TEST(StepScaleTest, WhatAStepHasBeforeItsFirstCallStays) {
  const StepScale longer = StepScale::OfOne(StepWith(1), 130, 100);
  EXPECT_DOUBLE_EQ(longer.Ns(StepWith(1), 100), 130);
  EXPECT_DOUBLE_EQ(longer.Ns(StepWith(1), 50), 80);
  const StepScale shorter = StepScale::OfOne(StepWith(1), 90, 100);
  EXPECT_DOUBLE_EQ(shorter.Ns(StepWith(1), 100), 90);
  EXPECT_DOUBLE_EQ(shorter.BeforeNs(StepWith(1)), 0);
}

TEST(StepScaleTest, WhatAStepHasBeforeItsFirstCallChangesAsTheHostsWorkThere) {
  // A call, whose edge comes from the previous cycle, and its kernel.
  auto shape = std::make_shared<PlanShape>();
  shape->edge_begin = {0, 1, 2};
  shape->from = {1 - 4, 0};
  shape->gpu = {0, 1};
  shape->step = {0, 0};
  shape->periodic = false;
  const auto with_work = [&](std::int64_t ns) {
    return Plan{.shape = shape, .duration = {5, 95}, .lag = {ns, 0}};
  };
  const StepScale scale = StepScale::OfOne(with_work(40), 130, 100);
  EXPECT_DOUBLE_EQ(scale.Ns(with_work(40), 100), 130);
  EXPECT_DOUBLE_EQ(scale.Ns(with_work(20), 100), 115);
  EXPECT_DOUBLE_EQ(scale.Ns(with_work(0), 100), 100) << "the loader is gone";
}

/// Two streams of two kernels each. The second cycle's first kernel follows the first cycle's last.
TEST(StepScaleTest, TheGpusWorkIsThatOfTheBusiestStream) {
  auto shape = std::make_shared<PlanShape>();
  // Tasks: a launch, a0, b0, a1, b1, a transfer on a channel.
  shape->edge_begin = {0, 0, 2, 3, 4, 5, 6};
  shape->from = {7 - 12, 1, 9 - 12, 3, 5, 1};
  shape->gpu = {0, 1, 1, 1, 1, 1};
  shape->step = {0, 0, 0, 1, 1, 1};
  shape->steps = 2;
  shape->channels = {Policy::kFifo};
  shape->channel = {kNoChannel, kNoChannel, kNoChannel, kNoChannel, kNoChannel, 0};
  const Plan plan = {.shape = std::move(shape),
                     .duration = {100, 10, 7, 20, 8, 500},
                     .lag = std::vector<std::int64_t>(6)};
  EXPECT_DOUBLE_EQ(GpuWorkNs(plan), 15) << "10 + 20 in two steps";
}

}  // namespace step_scale_test
}  // namespace headroom
