#include "export/slice_window.h"

#include <gtest/gtest.h>

namespace headroom {
namespace slice_window_test {

Interval Ns(std::int64_t from, std::int64_t to) { return {TimeNs(from), TimeNs(to)}; }

/// Steps 3 to 5 start at 0, 100 and 200 ns. Step 3 has the longest host time.
StepAnalysis Steps(StepSource source = StepSource::kAnnotation) {
  StepAnalysis steps;
  steps.steps.source = source;
  for (const std::int64_t number : {3, 4, 5}) {
    StepRow& row = steps.steps.list.emplace_back();
    row.index = number;
  }
  steps.hosts = {Ns(0, 250), Ns(100, 180), Ns(200, 290)};
  return steps;
}

TEST(WindowOfSteps, BeginsWithTheStepBefore) {
  const std::optional<SliceWindow> window = WindowOfSteps(Steps(), 5, 9);
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->time.start, TimeNs(100));
  EXPECT_EQ(window->time.end, TimeNs(290));
  EXPECT_EQ(window->steps, 1);
  EXPECT_EQ(window->step_before, 4);
  EXPECT_TRUE(window->marked);
}

TEST(WindowOfSteps, TheFirstStepHasNoneBefore) {
  const std::optional<SliceWindow> window = WindowOfSteps(Steps(), INT64_MIN, 4);
  EXPECT_EQ(window->time.start, TimeNs(0));
  EXPECT_EQ(window->time.end, TimeNs(250)) << "the host is in step 3 when step 4 has ended";
  EXPECT_EQ(window->steps, 2);
  EXPECT_FALSE(window->step_before.has_value());
}

// The end is exclusive, and the start of the next step marks the end of the last one.
TEST(WindowOfSteps, HoldsTheBeginningOfTheNextStepWhereStepsAreInferred) {
  EXPECT_EQ(WindowOfSteps(Steps(StepSource::kInferred), 5, 5)->time.end, TimeNs(291));
  EXPECT_FALSE(WindowOfSteps(Steps(StepSource::kInferred), 5, 5)->marked);
}

TEST(WindowOfSteps, IsNoneWithoutSuchAStep) {
  EXPECT_FALSE(WindowOfSteps(Steps(), 6, 9).has_value());
  EXPECT_FALSE(WindowOfSteps({}, INT64_MIN, INT64_MAX).has_value());
}

}  // namespace slice_window_test
}  // namespace headroom
