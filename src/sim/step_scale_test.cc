#include "sim/step_scale.h"

#include <gtest/gtest.h>

namespace headroom {
namespace step_scale_test {

TEST(StepScaleTest, TellsStepsAsReplayedUnlessTold) { EXPECT_EQ(StepScale().Ns(5), 5); }

TEST(StepScaleTest, StepsInALoopShrinkByTheSameFactor) {
  const StepScale scale = StepScale::OfMany(90, 100);
  EXPECT_DOUBLE_EQ(scale.Ns(100), 90);
  EXPECT_DOUBLE_EQ(scale.Ns(50), 45);
}

TEST(StepScaleTest, KeepsTheWorkOfTheGpu) {
  const StepScale scale = StepScale::OfMany(60, 100);
  EXPECT_DOUBLE_EQ(scale.Ns(100, 50, 50), 60);
  EXPECT_DOUBLE_EQ(scale.Ns(55, 50, 50), 50) << "not 33";
  EXPECT_DOUBLE_EQ(scale.Ns(25, 25, 50), 25) << "a faster GPU";
  EXPECT_DOUBLE_EQ(scale.Ns(200, 150, 50), 150) << "more work";
  EXPECT_DOUBLE_EQ(scale.Ns(100, 70, 70), 60) << "the step is shorter than the work";
}

TEST(StepScaleTest, WhatAStepHasBeforeItsFirstCallStays) {
  const StepScale longer = StepScale::OfOne(130, 100);
  EXPECT_DOUBLE_EQ(longer.Ns(100), 130);
  EXPECT_DOUBLE_EQ(longer.Ns(50), 80);
  const StepScale shorter = StepScale::OfOne(90, 100);
  EXPECT_DOUBLE_EQ(shorter.Ns(100), 90);
  EXPECT_DOUBLE_EQ(shorter.Ns(0), 0);
}

}  // namespace step_scale_test
}  // namespace headroom
