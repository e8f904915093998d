#include "whatif/job/step_window.h"

#include <gtest/gtest.h>

#include <memory>

#include "analysis/test_trace.h"
#include "whatif/forecast.h"

namespace headroom {
namespace step_window_test {

/// Host-bound steps with a kernel of 10 us each. `hosts` has their host times in us. Each step has
/// `operators` additional operators, and `between` us of work separate the annotations.
std::unique_ptr<TraceStore> StepsOf(const std::vector<std::int64_t>& hosts, int operators = 0,
                                    std::int64_t between = 0) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  std::int64_t at = 0, number = 0;
  for (const std::int64_t host : hosts) {
    b.Step(number++, kMain, at, host);
    for (int i = 0; i < operators; ++i) b.Op("aten::view", kMain, at + 40, 1);
    b.Launch("aten::mm", kMain, at + 5, kGemm, kStream, at + 12, 10);
    at += host + between;
  }
  return b.Build();
}

Steps StepsIn(const TraceStore& store) {
  NameFacts names(store, TestReferenceData());
  Result<StepAnalysis> steps = AnalyzeSteps(store, names, {});
  EXPECT_TRUE(steps.ok());
  return std::move(steps).value().steps;
}

TEST(StepWindowTest, TakesAllStepsOfAShortTraceButTheFirst) {
  const std::unique_ptr<TraceStore> store = StepsOf({100, 100, 120, 100});
  const std::optional<StepWindow> window = ChooseWindow(*store, StepsIn(*store));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 1u);
  EXPECT_EQ(window->last, 3u);
  // Each step has an annotation, an operator, a call and a kernel.
  EXPECT_EQ(window->events, 12);
}

TEST(StepWindowTest, TakesTheFirstStepIfNoTwoOthersFollowEachOther) {
  const std::unique_ptr<TraceStore> store = StepsOf({100, 100});
  const std::optional<StepWindow> window = ChooseWindow(*store, StepsIn(*store));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 0u);
  EXPECT_EQ(window->last, 1u);
}

TEST(StepWindowTest, TakesAtLeastTwoOfLongSteps) {
  // A step is as long as the host time of the previous one. The middle step has the median length.
  const std::unique_ptr<TraceStore> store =
      StepsOf({110'000, 100'000, 110'000, 90'000, 100'000}, kMaxWindowEvents / 2);
  const std::optional<StepWindow> window = ChooseWindow(*store, StepsIn(*store));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 1u);
  EXPECT_EQ(window->last, 2u);
}

TEST(StepWindowTest, APartRepresentsALongRun) {
  // 30 steps of 10,000 operators; the middle of the run has the median step.
  std::vector<std::int64_t> hosts(30, 100'000);
  hosts[3] = 90'000;
  hosts[25] = 110'000;
  const std::unique_ptr<TraceStore> store = StepsOf(hosts, 10'000);
  const Steps steps = StepsIn(*store);
  const std::optional<StepWindow> part = ReplayedRun(*store, steps);
  ASSERT_TRUE(part);
  EXPECT_LE(part->events, kMaxPartEvents);
  EXPECT_GE(part->steps(), 9);
  EXPECT_EQ(part->events, CountEvents(*store, steps, *part));
  // The part belongs to the longest run, even if the median step lies elsewhere.
  Steps apart = steps;
  apart.list[29].after_pause = true;
  apart.p50 = apart.list[29].wall;
  apart.list[29].wall = *apart.p50;
  for (std::size_t row = 0; row < 29; ++row) apart.list[row].wall = *apart.p50 + DurationNs(1000);
  EXPECT_LT(ReplayedRun(*store, apart)->last, 29u);
  // A run that is not too long is replayed whole.
  const std::unique_ptr<TraceStore> few = StepsOf({100, 100, 100, 100});
  const Steps all = StepsIn(*few);
  EXPECT_EQ(ReplayedRun(*few, all)->steps(), LongestWholeRun(all)->steps());
}

TEST(StepWindowTest, EndsAtAStepThatIsNotWhole) {
  const std::unique_ptr<TraceStore> store = StepsOf({100, 100, 100, 100, 100});
  Steps steps = StepsIn(*store);
  steps.list[0].lost_tasks = steps.list[3].lost_tasks = true;
  const std::optional<StepWindow> window = ChooseWindow(*store, steps);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 1u);
  EXPECT_EQ(window->last, 2u);
  for (StepRow& row : steps.list) row.lost_tasks = true;
  EXPECT_FALSE(ChooseWindow(*store, steps));
}

TEST(StepWindowTest, LeavesOutAStepWhoseHostWorksOn) {
  // A checkpoint follows the last step's GPU work and makes no step longer.
  const std::unique_ptr<TraceStore> store = StepsOf({100, 100, 100, 100, 100, 9000});
  const Steps steps = StepsIn(*store);
  const std::optional<StepWindow> window = ChooseWindow(*store, steps);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 1u);
  EXPECT_EQ(window->last, 4u);
  EXPECT_EQ(LongestWholeRun(steps)->last, 4u);
}

TEST(StepWindowTest, ItsJobIsThatOfItsStepsAlone) {
  // Without steps 0 and 4, each step takes 100 us.
  const std::unique_ptr<TraceStore> store = StepsOf({300, 100, 100, 100, 300});
  const Result<WindowJob> made = MakeWindowJob(*store, TestReferenceData(), StepsIn(*store),
                                               {.first = 1, .last = 3, .events = 0}, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value().job->graph().steps, 3);
  const Forecaster forecaster(*made.value().job);
  EXPECT_DOUBLE_EQ(forecaster.baseline().traced_step_ms, 0.1);
  EXPECT_DOUBLE_EQ(forecaster.baseline().corrected.mid, 0.1);
}

TEST(StepWindowTest, ItsJobDoesWhatLiesBetweenMarks) {
  // Work such as a fetch precedes each step's annotation. For step 0, it was not recorded.
  const std::unique_ptr<TraceStore> store = StepsOf({100, 100, 100, 100}, 0, 50);
  const Steps steps = StepsIn(*store);
  const Result<WindowJob> made =
      MakeWindowJob(*store, TestReferenceData(), steps, {.first = 1, .last = 3, .events = 0}, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Forecaster forecaster(*made.value().job);
  EXPECT_DOUBLE_EQ(forecaster.baseline().traced_step_ms, 0.15);
  EXPECT_DOUBLE_EQ(forecaster.baseline().corrected.mid, 0.15);
}

TEST(StepWindowTest, ItsJobHoldsWhileTheQueueFillsAndRunsDry) {
  // The loader delivers three batches at a time, so three steps take 460 us in the steady state.
  // The window has only one delivery in five steps. If it repeated, a step would take 101 us.
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  std::int64_t at = 0, gpu_free = 0;
  for (int step = 0; step < 6; ++step) {
    const std::int64_t wait = step % 3 == 0 ? 400 : 1;
    b.Step(step, kMain, at, wait + 20);
    b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, at, wait);
    const std::int64_t start = std::max(gpu_free, at + wait + 10);
    b.Launch("aten::mm", kMain, at + wait + 5, kGemm, kStream, start, 100);
    gpu_free = start + 100;
    at += wait + 20;
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  const Steps steps = StepsIn(*store);
  const Result<WindowJob> made =
      MakeWindowJob(*store, TestReferenceData(), steps, {.first = 1, .last = 5, .events = 0}, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Forecaster forecaster(*made.value().job);
  EXPECT_EQ(forecaster.WhyNone(), "");
  const MsInterval& corrected = forecaster.baseline().corrected;
  EXPECT_GE(corrected.high, 0.46 / 3);
}

TEST(StepWindowTest, KeepsStepsThatOnlyTheWholeTraceTells) {
  // There are no annotations. Six steps show the repetition, but the window has only two of them.
  // The job does not search them for steps again.
  StoreBuilder b;
  for (int step = 0; step < 6; ++step) {
    for (int op = 0; op < 4; ++op) {
      b.Launch(op == 3 ? "aten::add_" : "aten::mm", kMain, 100 * step + 20 * op,
               op == 3 ? kAdd : kGemm, kStream, 100 * step + 20 * op + 5, 8);
    }
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  Steps steps;
  for (int step = 0; step < 6; ++step) {
    StepRow& row = steps.list.emplace_back();
    row.index = step;
    row.on_host = {TimeNs(100'000 * step), TimeNs(100'000 * (step + 1))};
    row.start = row.on_host.start;
    row.wall = row.on_host.length();
  }
  const Result<WindowJob> made =
      MakeWindowJob(*store, TestReferenceData(), steps, {.first = 2, .last = 3, .events = 0}, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value().job->graph().steps, 2);
  EXPECT_EQ(made.value().job->steps().steps.list.front().index, 2);
}

}  // namespace step_window_test
}  // namespace headroom
