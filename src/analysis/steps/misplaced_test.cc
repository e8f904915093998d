#include "analysis/steps/misplaced.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/steps/steps.h"
#include "analysis/test_trace.h"

namespace headroom {
namespace misplaced_test {

/// Returns the launch numbers of the misplaced tasks.
std::vector<std::int64_t> NumbersOf(const StoreBuilder& builder) {
  TestTrace trace(builder);
  std::vector<std::int64_t> numbers;
  for (const MisplacedTask& misplaced : FindMisplacedTasks(*trace.store, trace.names))
    numbers.push_back(trace.store->gpu_tasks.correlation[misplaced.task.index()]);
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

/// Adds a launch of 2 us and its kernel.
void Launch(StoreBuilder& b, std::int64_t number, std::int64_t at, std::int64_t runs,
            std::int64_t stream = kStream, std::int64_t thread = kMain) {
  b.Call("cudaLaunchKernel", thread, at, 2, number);
  b.Kernel(kGemm, stream, runs, 5, number);
}

TEST(MisplacedTasks, AreNoneWhereEachStreamKeepsItsOrder) {
  StoreBuilder b;
  for (int i = 0; i < 10; ++i)
    Launch(b, i, i * 10, 500 + i * 10, i % 2 == 0 ? kStream : kSideStream);
  Launch(b, 10, 100, 150, 30);  // A separate stream overtakes the others.
  EXPECT_EQ(NumbersOf(b), Numbers{});
}

TEST(MisplacedTasks, RunBehindTasksLaunchedLater) {
  StoreBuilder b;
  for (int i = 0; i < 10; ++i) Launch(b, i, i * 10, i == 4 ? 20'000'000 : 5 + i * 10);
  EXPECT_EQ(NumbersOf(b), Numbers{4});
}

TEST(MisplacedTasks, AreLaunchedFarTooEarly) {
  StoreBuilder b;
  for (int i = 0; i < 10; ++i) Launch(b, i, i == 4 ? -5000 : i * 10, 5 + i * 10);
  EXPECT_EQ(NumbersOf(b), Numbers{4});
}

TEST(MisplacedTasks, StartBeforeTheirLaunchByMoreThanClocksDiffer) {
  StoreBuilder b;
  for (int i = 0; i < 9; ++i) Launch(b, i, i * 10, 5 + i * 10);
  Launch(b, 9, 400, 350, kSideStream);  // Alone on its stream, but within 100 us.
  EXPECT_EQ(NumbersOf(b), Numbers{});
  Launch(b, 10, 4000, 500, 30);
  EXPECT_EQ(NumbersOf(b), Numbers{10});
}

TEST(MisplacedTasks, StartBehindACallThatWaitedForThem) {
  const auto job = [](std::int64_t last_runs, std::int64_t other_device) {
    StoreBuilder b;
    for (int i = 0; i < 9; ++i) Launch(b, i, i * 10, 5 + i * 10);
    b.Call("cudaLaunchKernel", kMain, 80, 2, 10);
    b.Kernel(kGemm, kSideStream, 86, 5, 10).Device(other_device);
    Launch(b, 11, 100, last_runs);  // Nothing runs after it.
    b.Call("cudaDeviceSynchronize", kMain, 110, 50);
    return b;
  };
  EXPECT_EQ(NumbersOf(job(150, 0)), Numbers{});
  EXPECT_EQ(NumbersOf(job(20'000, 0)), Numbers{11});
  EXPECT_EQ(NumbersOf(job(20'000, 1)), Numbers{}) << "the call may have waited for the other";
}

TEST(MisplacedTasks, AreNotToldByLaunchesThatOverlap) {
  StoreBuilder b;
  for (int i = 0; i < 9; ++i) Launch(b, i, i * 10, 5 + i * 10);
  b.Call("cudaLaunchKernel", kMain, 100, 20, 9);
  b.Call("cudaLaunchKernel", kAutograd, 101, 2, 10);  // Finished first.
  b.Kernel(kGemm, kStream, 200, 5, 10);
  b.Kernel(kGemm, kStream, 210, 5, 9);
  EXPECT_EQ(NumbersOf(b), Numbers{});
}

TEST(MisplacedTasks, AreNotToldWhereTheRuleDoesNotHold) {
  StoreBuilder b;  // One in four overtakes.
  for (int i = 0; i < 40; ++i) Launch(b, i, i * 10, 5 + i * 10 - (i % 4 == 0 ? 30 : 0));
  EXPECT_EQ(NumbersOf(b), Numbers{});
}

TEST(MisplacedTasks, AreNotToldOfGraphs) {
  StoreBuilder b;
  for (int i = 0; i < 9; ++i) Launch(b, i, i * 10, 5 + i * 10);
  b.Call("cudaGraphLaunch", kMain, 100, 5, 9);
  b.Kernel(kGemm, kStream, 120, 5, 9);
  Launch(b, 10, 110, 115);
  EXPECT_EQ(NumbersOf(b), Numbers{});
}

TEST(MisplacedTasks, AreToldOfEachProcessByItself) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) Launch(b, i, i * 10, 1000 + i * 10);
  b.InProcess("2");
  for (int i = 0; i < 3; ++i) Launch(b, 10 + i, 100 + i * 10, 105 + i * 10);
  EXPECT_EQ(NumbersOf(b), Numbers{});
}

/// Analyzes five steps of 100 us with ten kernels each. `runs` moves the kernel `wrong`, `launched`
/// moves its launch.
StepAnalysis FiveSteps(std::int64_t wrong, std::optional<std::int64_t> runs,
                       std::optional<std::int64_t> launched) {
  StoreBuilder b;
  for (int i = 0; i < 5; ++i) {
    b.Step(i, kMain, i * 100, 100);
    for (int k = 0; k < 10; ++k) {
      const std::int64_t number = i * 10 + k;
      const std::int64_t at = number * 10;
      Launch(b, number, number == wrong ? launched.value_or(at) : at,
             number == wrong ? runs.value_or(at + 4) : at + 4);
    }
  }
  TestTrace trace(b);
  Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  EXPECT_TRUE(steps.ok());
  return steps.ok() ? std::move(steps).value() : StepAnalysis();
}

std::vector<bool> WholeOf(const StepAnalysis& steps) {
  std::vector<bool> whole;
  for (const StepRow& row : steps.steps.list) whole.push_back(!row.lost_tasks);
  return whole;
}

TEST(MisplacedTasks, TakeTheStepsThatTheyTouchOutOfTheMedian) {
  const StepAnalysis late = FiveSteps(12, 20'000'000, std::nullopt);
  EXPECT_EQ(WholeOf(late), (std::vector<bool>{true, false, true, true, false}));
  EXPECT_EQ(late.steps.p50, Us(100));
  EXPECT_EQ(late.steps.max, Us(100));
  EXPECT_EQ(late.steps.list[1].tasks, 9);

  const StepAnalysis early = FiveSteps(32, std::nullopt, -5'000'000);
  EXPECT_EQ(WholeOf(early), (std::vector<bool>{false, true, true, false, true}));
  EXPECT_EQ(early.steps.p50, Us(100));

  // This task is the last of its step, so the start of the next step is also unknown.
  const StepAnalysis last = FiveSteps(29, 20'000'000, std::nullopt);
  EXPECT_EQ(WholeOf(last), (std::vector<bool>{true, true, false, false, false}));
}

TEST(StepsThatLaunch, AreNotWholeWhereTheyTakeNoTime) {
  StoreBuilder b;  // With so few tasks, it is unclear which is wrong.
  for (int i = 0; i < 2; ++i) b.Step(i, kMain, i * 100, 100);
  Launch(b, 0, 10, 5000);
  Launch(b, 1, 110, 120);
  TestTrace trace(b);
  const Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps.value().steps.list[1].wall, Us(0));
  EXPECT_EQ(WholeOf(steps.value()), (std::vector<bool>{true, false}));
}

}  // namespace misplaced_test
}  // namespace headroom
