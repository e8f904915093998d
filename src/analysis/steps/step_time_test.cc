#include "analysis/steps/step_time.h"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/steps/steps.h"

namespace headroom {
namespace step_time_test {

Steps Of(const std::vector<int>& walls_us) {
  Steps steps;
  for (const int us : walls_us) steps.list.emplace_back().wall = DurationNs(us * 1'000);
  static_cast<WallSummary&>(steps) = SummarizeWalls(steps.list);
  return steps;
}

TEST(StepTimeTest, IsTheMeanAsLoadersDeliverInBursts) {
  EXPECT_EQ(StepTimeOf(Of({90, 60, 300, 60, 60, 300, 60}))->mean.ns(), 140'000);
}

TEST(StepTimeTest, IsWithoutTheFirstWhereThereAreOthers) {
  EXPECT_EQ(StepTimeOf(Of({120, 100, 100, 100}))->mean.ns(), 100'000);
  EXPECT_EQ(StepTimeOf(Of({120, 100}))->steps, 1);
  EXPECT_EQ(StepTimeOf(Of({120}))->mean.ns(), 120'000);
}

TEST(StepTimeTest, GpuBusyIsOfTheSameSteps) {
  Steps steps = Of({120, 100, 100});
  for (StepRow& row : steps.list) row.gpu_busy = row.wall;
  EXPECT_EQ(StepTimeOf(steps)->gpu_busy.ns(), 100'000);
}

TEST(StepTimeTest, IsOfWholeCyclesOfMicroBatches) {
  const auto every = [](std::int64_t steps, const std::vector<int>& walls_us) {
    Steps of = Of(walls_us);
    of.optimizer_every = steps;
    return *StepTimeOf(of);
  };
  EXPECT_EQ(every(2, {10, 20, 10, 20, 10, 20}).mean.ns(), 15'000);
  EXPECT_EQ(every(2, {10, 20, 10, 20, 10, 20}).steps, 4);
  EXPECT_EQ(every(2, {10, 20}).mean.ns(), 15'000) << "one cycle, with the first";
  EXPECT_EQ(every(4, {10, 20, 10}).steps, 2) << "no whole cycle";
}

TEST(StepTimeTest, LeavesOutOneStepAmongFiveThatIsFarSlower) {
  EXPECT_EQ(StepTimeOf(Of({10, 11, 9, 10, 4'000}))->mean.ns(), 10'000);
  EXPECT_EQ(StepTimeOf(Of({10, 10, 10, 40}))->mean.ns(), 20'000) << "of four, nobody can tell";
  EXPECT_EQ(StepTimeOf(Of({4'000, 10, 12, 10, 12}))->mean.ns(), 11'000) << "the first, once";
}

TEST(StepTimeTest, HoldsASlowStepAmongUnevenOnes) {
  EXPECT_EQ(StepTimeOf(Of({30, 26, 4, 45, 2}))->mean.ns(), (26 + 4 + 45 + 2) * 1'000 / 4);
  EXPECT_EQ(StepTimeOf(Of({1, 26, 26, 45, 26}))->mean.ns(), 26'000) << "the first is a part";
}

TEST(StepTimeTest, LeavesOutTwoStepsOfTenThatFollowEachOther) {
  // A checkpoint slows two successive steps.
  EXPECT_EQ(StepTimeOf(Of({10, 10, 10, 30, 400, 10, 10, 10, 10, 10}))->mean.ns(), 10'000);
  EXPECT_EQ(StepTimeOf(Of({900, 30, 10, 10, 10, 10, 10, 10, 10, 10}))->mean.ns(), 10'000);
  EXPECT_GT(StepTimeOf(Of({10, 10, 30, 10, 400, 10, 10, 10, 10, 10}))->mean.ns(), 50'000);
  EXPECT_GT(StepTimeOf(Of({10, 10, 10, 30, 400, 10, 10}))->mean.ns(), 50'000) << "of seven";
  EXPECT_EQ(StepTimeOf(Of({900, 30, 10, 10, 10, 10}))->mean.ns(), 10'000) << "warm-up";
}

TEST(StepTimeTest, HoldsTheOneWaitForALoaderAmongFewSteps) {
  Steps steps = Of({10, 10, 10, 70, 10});
  steps.list[3].loading = DurationNs(50'000);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 25'000);
  steps.list[3].loading = DurationNs(20'000);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 10'000) << "something else takes most of it";
  std::vector<int> many(16, 10);
  many[3] = 70;
  steps = Of(many);
  steps.list[3].loading = DurationNs(50'000);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 10'000) << "a burst would return among so many";
}

TEST(StepTimeTest, HoldsTwoWaitsForALoader) {
  std::vector<int> walls(16, 10);
  walls[3] = walls[4] = 70;
  Steps steps = Of(walls);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 10'000);
  steps.list[3].loading = steps.list[4].loading = DurationNs(50'000);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 18'000);
  std::swap(walls[0], walls[3]);
  std::swap(walls[1], walls[4]);
  steps = Of(walls);
  steps.list[0].loading = steps.list[1].loading = DurationNs(50'000);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 10'000) << "the loader starts";
}

TEST(StepTimeTest, StepsOfAnotherKindBetweenSeparate) {
  Steps steps = Of({10, 10, 10, 400, 5, 400, 10, 10, 10, 10, 10});
  steps.list[4].of_other_kind = true;
  static_cast<WallSummary&>(steps) = SummarizeWalls(steps.list);
  EXPECT_GT(StepTimeOf(steps)->mean.ns(), 50'000);
}

TEST(StepTimeTest, IsOfWholeSteps) {
  Steps steps = Of({10, 12, 1, 14});
  steps.list[2].lost_tasks = true;
  static_cast<WallSummary&>(steps) = SummarizeWalls(steps.list);
  EXPECT_EQ(StepTimeOf(steps)->mean.ns(), 13'000);
  for (StepRow& row : steps.list) row.lost_tasks = true;
  EXPECT_FALSE(StepTimeOf(steps).has_value());
}

TEST(StepTimeTest, ItsErrorIsThatOfAMean) {
  // Deviations from the median of 100: 10 and 10, over 4 steps.
  EXPECT_NEAR(StepTimeError(Of({120, 100, 110, 90, 100})), 1.25 * 20 / 400 / 2, 1e-12);
  EXPECT_EQ(StepTimeError(Of({100, 100, 100, 300, 100, 100})), 0) << "one that is far slower";
  EXPECT_EQ(StepTimeError(Of({120, 100})), 0) << "of one step, nothing is known";
}

}  // namespace step_time_test
}  // namespace headroom
