#include "analysis/steps/steps.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace steps_test {

StepAnalysis StepsOf(const StoreBuilder& builder, const AnalysisOptions& options = {}) {
  TestTrace trace(builder);
  Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, options);
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  return steps.ok() ? std::move(steps).value() : StepAnalysis();
}

std::vector<std::int64_t> WallsUs(const StepAnalysis& steps) {
  std::vector<std::int64_t> walls;
  for (const StepRow& row : steps.steps.list) walls.push_back(row.wall.ns() / 1000);
  return walls;
}

using Walls = std::vector<std::int64_t>;

TEST(Steps, EndWhereTheirGpuWorkEnds) {
  StoreBuilder b;
  // The host takes 100 us per step, the GPU 300 us.
  for (int i = 0; i < 3; ++i) {
    b.Step(10 + i, kMain, i * 100, 100);
    b.Launch("aten::mm", kMain, i * 100 + 10, kGemm, kStream, 20 + i * 300, 300);
  }
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.source, StepSource::kAnnotation);
  EXPECT_EQ(WallsUs(found), (Walls{320, 300, 300}));
  EXPECT_EQ(found.steps.list[1].index, 11);
  EXPECT_EQ(found.steps.list[1].start, AtUs(320));
  EXPECT_EQ(found.steps.list[1].gpu_busy, Us(300));
  EXPECT_EQ(found.steps.list[1].host, Us(100));
  EXPECT_EQ(found.steps.p50, Us(300));
  EXPECT_EQ(found.steps.max, Us(320));
  EXPECT_EQ(found.steps.list[1].tasks, 1);
}

TEST(Steps, TheFirstDoesNotPayForTheQueueThatWarmUpLeft) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10,
           500);                        // Launched before the first step, ends at 510.
  b.Kernel(kAdd, kSideStream, 0, 450);  // Launched before recording began: no launch, then
  b.Launch("aten::mm", kMain, 120, kGemm, kSideStream, 520,
           10);  // a joined one on the same stream.
  b.Step(1, kMain, 100, 100);
  b.Launch("aten::mm", kMain, 110, kGemm, kStream, 510, 200);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), Walls{200});
  EXPECT_EQ(found.steps.list[0].start, AtUs(510));
  EXPECT_EQ(found.steps.tasks_before_first, 2);
}

TEST(Steps, OnAStreamWithoutLaunchesWorkWithLowerNumbersCameBeforeTheRecording) {
  StoreBuilder b;
  b.Step(1, kMain, 100, 100);
  b.Call("cudaLaunchKernel", kMain, 110, 5, /*correlation=*/70);
  b.Kernel(kGemm, kStream, 120, 50, 70);
  b.Kernel(kAdd, kSideStream, 0, 90, 68);
  b.Kernel(kAdd, kSideStream, 200, 10, 71);  // Its call was lost.
  const TestTrace trace(b);
  const StepAnalysis found = StepsOf(b);
  for (std::size_t task = 0; task < trace.store->gpu_tasks.rows(); ++task)
    EXPECT_EQ(found.before_recording[task], trace.store->gpu_tasks.correlation[task] == 68);
}

TEST(Steps, TheFirstIsWholeBesideALongerQueueOfAnotherStream) {
  StoreBuilder b;
  b.Kernel(kAdd, kSideStream, 0, 450);  // Launched before the recording.
  b.Step(1, kMain, 100, 100);
  b.Launch("aten::mm", kMain, 110, kGemm, kStream, 120, 50);
  b.Step(2, kMain, 200, 100);
  b.Launch("aten::mm", kMain, 210, kGemm, kStream, 220, 50);
  b.Launch("aten::mm", kMain, 220, kGemm, kSideStream, 450, 20);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), (Walls{70, 300}));
  EXPECT_FALSE(found.steps.list[0].lost_tasks);
}

TEST(Steps, WithoutGpuWorkLastAsLongAsTheirAnnotation) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 100);  // Ends at 120.
  b.Step(1, kMain, 100, 40);                                 // For example, validation on the CPU.
  b.Op("aten::add", kMain, 110, 20);
  b.Step(2, kMain, 140, 100);
  b.Launch("aten::mm", kMain, 150, kGemm, kStream, 160, 100);  // Ends at 260.
  EXPECT_EQ(WallsUs(StepsOf(b)), (Walls{120, 40, 120})) << "the third begins with its annotation";
}

TEST(Steps, AfterOneWithoutGpuWorkDoNotOverlapTheWorkBefore) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 280);  // Ends at 300.
  b.Step(1, kMain, 100, 40);
  b.Step(2, kMain, 140, 100);
  b.Launch("aten::mm", kMain, 150, kGemm, kStream, 300, 100);
  EXPECT_EQ(WallsUs(StepsOf(b)), (Walls{300, 40, 100}));
}

TEST(Steps, WhoseKernelsWereLostAreNotInTheMedian) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 200);
  for (int i = 1; i < 4; ++i) {
    b.Step(i, kMain, i * 100, 100);
    b.Call("cudaLaunchKernel", kMain, i * 100 + 10, 1, i);  // No kernel has the number.
  }
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), (Walls{220, 100, 100, 100}));
  EXPECT_EQ(found.steps.p50, Us(220));
  EXPECT_EQ(found.steps.min, Us(220));
  EXPECT_TRUE(found.steps.list[1].lost_tasks);
  EXPECT_FALSE(found.steps.list[0].lost_tasks);
}

/// Builds three steps of 1000 us, as a profiler would write them. Each has 50 forward and 50
/// backward operators, which make one launch each. `has_call` and `has_task` select the records
/// that the file still contains.
StoreBuilder CutJob(
    const std::function<bool(int step, std::int64_t thread, int number)>& has_call,
    const std::function<bool(int step, std::int64_t thread, int number)>& has_task) {
  StoreBuilder b;
  std::int64_t correlation = 0;
  for (int i = 0; i < 3; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    for (const std::int64_t thread : {kMain, kAutograd}) {
      for (int k = 0; k < 50; ++k) {
        const std::int64_t at = i * 1000 + (thread == kMain ? 0 : 500) + k * 9;
        b.Op(thread == kMain ? "aten::mm" : "MmBackward0", thread, at, 5);
        ++correlation;
        if (has_call(i, thread, k)) b.Call("cudaLaunchKernel", thread, at + 1, 2, correlation);
        if (has_task(i, thread, k)) b.Kernel(kGemm, kStream, at + 3, 5, correlation);
      }
    }
  }
  if (has_call(3, kMain, 0)) b.Call("cudaDeviceSynchronize", kMain, 3001, 5);
  return b;
}

std::vector<bool> WholeAfterCut(const StoreBuilder& b) {
  TestTrace trace(b);
  trace.store->log.Add(ImportIssue::kTruncated);
  const Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  EXPECT_TRUE(steps.ok());
  std::vector<bool> whole;
  for (const StepRow& row : steps.value().steps.list) whole.push_back(!row.lost_tasks);
  EXPECT_EQ(steps.value().steps.p50.has_value(),
            std::find(whole.begin(), whole.end(), true) != whole.end());
  return whole;
}

TEST(CutSteps, AreWholeWhereNothingIsMissing) {
  const auto all = [](int, std::int64_t, int) { return true; };
  EXPECT_EQ(WholeAfterCut(CutJob(all, all)), (std::vector<bool>{true, true, true}));
}

TEST(CutSteps, BehindTheLastCallAreNotWhole) {
  const auto before = [](int step, std::int64_t thread, int number) {
    return step < 1 || (step == 1 && thread == kMain && number < 20);
  };
  EXPECT_EQ(WholeAfterCut(CutJob(before, before)), (std::vector<bool>{true, false, false}));
}

TEST(CutSteps, WithLaunchesWithoutTasksAreNotWhole) {
  const auto all = [](int, std::int64_t, int) { return true; };
  const auto before = [](int step, std::int64_t thread, int number) {
    return step < 2 || thread == kMain || number < 49;
  };
  EXPECT_EQ(WholeAfterCut(CutJob(all, before)), (std::vector<bool>{true, true, false}));
}

TEST(CutSteps, WithFewerTasksThanTheirOperatorsMakeAreNotWhole) {
  // The buffers of the second thread end early.
  const auto before = [](int step, std::int64_t thread, int number) {
    return thread == kMain || step < 1 || (step == 1 && number < 10);
  };
  EXPECT_EQ(WholeAfterCut(CutJob(before, before)), (std::vector<bool>{true, false, false}));
}

TEST(CutSteps, WithFewerTasksThanOneOfTheSameOperatorsAreNotWhole) {
  // The last few calls and tasks of one thread are after the cut.
  const auto but_the_last = [](int step, std::int64_t thread, int number) {
    return step != 1 || thread == kMain || number < 48;
  };
  EXPECT_EQ(WholeAfterCut(CutJob(but_the_last, but_the_last)),
            (std::vector<bool>{true, false, true}));
}

TEST(CutSteps, AreNotWholeWhereNoGpuTaskWasRecorded) {
  const auto all = [](int, std::int64_t, int) { return true; };
  const auto none = [](int, std::int64_t, int) { return false; };
  EXPECT_EQ(WholeAfterCut(CutJob(all, none)), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(WholeAfterCut(CutJob(none, none)), (std::vector<bool>{false, false, false}));
}

TEST(CutSteps, InWhichAThreadGoesWithoutCallsAreNotWhole) {
  const auto but_a_few = [](int step, std::int64_t thread, int number) {
    return step < 2 || thread == kMain || number < 20 || number >= 30;
  };
  const auto but_the_last = [&](int step, std::int64_t thread, int number) {
    return step != 2 || thread == kMain || number < 40;
  };
  EXPECT_EQ(WholeAfterCut(CutJob(but_a_few, but_a_few)), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(WholeAfterCut(CutJob(but_the_last, but_the_last)),
            (std::vector<bool>{true, true, false}));
}

TEST(CutSteps, WhoseBackwardThreadHasNoCallsAreNotWhole) {
  const auto main_only = [](int, std::int64_t thread, int) { return thread == kMain; };
  EXPECT_EQ(WholeAfterCut(CutJob(main_only, main_only)), (std::vector<bool>{false, false, false}));
}

TEST(CutSteps, AreTakenAsRecordedWhereTheFileIsNotCut) {
  const auto main_only = [](int, std::int64_t thread, int) { return thread == kMain; };
  for (const StepRow& row : StepsOf(CutJob(main_only, main_only)).steps.list)
    EXPECT_FALSE(row.lost_tasks);
}

TEST(Steps, OwnWhatAnyThreadOfTheProcessLaunchesInsideThem) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kAutograd, 50, kGemm, kStream, 60, 100);
  b.Launch("aten::mm", kAutograd, 100, kGemm, kStream, 170, 100);  // Half open: excludes the end.
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), Walls{160});
  EXPECT_EQ(found.steps.tasks_outside, 1);
}

TEST(Steps, TheMedianIsTheLowerMiddleOne) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (const std::int64_t wall : {10, 40, 20, 30}) {
    b.Step(at, kMain, at, wall);
    at += wall;
  }
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.p50, Us(20));
  EXPECT_EQ(found.steps.mean, Us(25));
  EXPECT_FALSE(found.steps.list[0].gpu_busy) << "no GPU work in the file: not known";
}

TEST(Steps, WrittenTwiceAreTakenOnce) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Step(i, kMain, i * 100, 100);
    b.Op("ProfilerStep#" + std::to_string(i), kMain, i * 100, 100);
  }
  EXPECT_EQ(WallsUs(StepsOf(b)), (Walls{100, 100}));
}

TEST(Steps, OfSeveralProcessesAreThoseOfTheOneThatAnnotatesFirst) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) {
    b.InProcess("10").Step(i, kMain, i * 100, 100);
    b.Launch("aten::mm", kMain, i * 100 + 10, kGemm, kStream, i * 100 + 20, 50).Device(0);
    b.InProcess("11").Step(i, kMain, i * 100 + 50, 100);
    b.Launch("aten::mm", kMain, i * 100 + 60, kGemm, kStream, i * 100 + 70, 90).Device(1);
  }
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), (Walls{70, 100, 100}));
  EXPECT_EQ(found.steps.list[1].gpu_busy, Us(50)) << "what the other process runs is no part";
}

TEST(Steps, OfAProcessThatOnlyAnnotatesOwnTheWorkOfAll) {
  StoreBuilder b;
  b.InProcess("10").Step(1, kMain, 0, 100);
  b.InProcess("11").Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 50);
  EXPECT_EQ(WallsUs(StepsOf(b)), Walls{70});
}

TEST(Steps, SpanAllDevicesOfAProcess) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Step(i, kMain, i * 100, 100);
    b.Launch("aten::mm", kMain, i * 100 + 10, kGemm, kStream, i * 100 + 20, 30).Device(0);
    b.Launch("aten::mm", kMain, i * 100 + 12, kGemm, kStream, i * 100 + 40, 50).Device(1);
  }
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(WallsUs(found), (Walls{90, 100}));
  EXPECT_EQ(found.steps.list[1].gpu_busy, Us(70)) << "the union over both";
}

TEST(AnnotatedSteps, AreNotTheEmptyOneThatEndsTheLoop) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    b.Launch("aten::mm", kMain, i * 1000 + 5, kGemm, kStream, i * 1000 + 10, 900);
  }
  b.Step(2, kMain, 2000, 40);
  EXPECT_EQ(StepsOf(b).steps.list.size(), 2u);
  b.Op("aten::view", kMain, 2010, 2);
  EXPECT_EQ(StepsOf(b).steps.list.size(), 3u) << "a step in which something happens is one";
}

TEST(AnnotatedSteps, AreNotTheOneInWhichOnlyTheLoaderRunsOut) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    for (int k = 0; k < 30; ++k)
      b.Launch("aten::mm", kMain, i * 1000 + 5 + k * 3, kGemm, kStream, i * 1000 + 10 + k * 3, 2);
  }
  b.Step(2, kMain, 2000, 40);
  b.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain, 2001, 30);
  for (int k = 0; k < 8; ++k) b.Op("aten::empty", kMain, 2002 + k * 3, 2);
  b.Op("aten::pin_memory", kOtherThread, 2010, 5);
  EXPECT_EQ(StepsOf(b).steps.list.size(), 2u);
  b.Op("aten::random_", kMain, 2035, 2);  // The seed of the next epoch.
  EXPECT_EQ(StepsOf(b).steps.list.size(), 2u);
  b.Launch("aten::mm", kMain, 2037, kGemm, kStream, 2038, 1);
  EXPECT_EQ(StepsOf(b).steps.list.size(), 3u) << "a step that launches is one";
}

TEST(InferredSteps, RunFromOneOptimizerStepToTheNext) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) b.Annotation("Optimizer.step#AdamW.step", kMain, i * 100 + 80, 20);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.source, StepSource::kInferred);
  EXPECT_EQ(found.steps.marker, "Optimizer.step#AdamW.step");
  EXPECT_EQ(found.steps.confidence, "high");
  EXPECT_EQ(WallsUs(found), Walls(5, 100));
  EXPECT_FALSE(found.steps.list[0].host) << "no annotation, no length of one";
}

TEST(InferredSteps, AreFoundWhereAnnotationsAreWrittenAsOperators) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) b.Op("Optimizer.step#SGD.step", kMain, i * 100, 20);
  EXPECT_EQ(WallsUs(StepsOf(b)).size(), 5u);
}

TEST(InferredSteps, MayHoldAStepThatTakesFarLonger) {
  for (const int slow : {0, 3}) {
    StoreBuilder b;
    std::int64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      at += i == slow ? 5000 : 100;
      b.Annotation("Optimizer.step#AdamW.step", kMain, at, 20);
    }
    EXPECT_EQ(StepsOf(b).steps.list.size(), 5u) << slow;
  }
}

TEST(InferredSteps, EndWithTheLastOfSeveralUpdates) {
  // Two networks with optimizers of one name.
  StoreBuilder b;
  for (int i = 0; i < 5; ++i) {
    b.Annotation("Optimizer.step#Adam.step", kMain, i * 1000 + 200, 20);
    b.Annotation("Optimizer.step#Adam.step", kMain, i * 1000 + 900, 20);
  }
  const StepAnalysis found = StepsOf(b);
  ASSERT_EQ(found.steps.list.size(), 4u);
  EXPECT_EQ(found.hosts[0].start, AtUs(920));
  EXPECT_EQ(found.hosts[0].length(), Us(1000));
}

TEST(InferredSteps, OfUnevenUpdatesAreForJobsWithoutAGpu) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) b.Annotation("work", kMain, i * 600, 550);
  for (const std::int64_t at : {0, 100, 900, 1000, 2900, 3000})
    b.Annotation("Optimizer.step#AdamW.step", kOtherThread, at, 20);
  EXPECT_EQ(StepsOf(b).steps.marker, "Optimizer.step#AdamW.step");
  EXPECT_EQ(StepsOf(b).steps.list.size(), 5u);
  b.Launch("aten::mm", kMain, 2, kGemm, kStream, 3, 10);
  EXPECT_EQ(StepsOf(b).steps.marker, "work");
}

TEST(InferredSteps, OfALoaderThatDeliversInBursts) {
  for (const bool marked : {true, false}) {
    StoreBuilder b;
    std::int64_t at = 0;
    for (int i = 0; i < 40; ++i) {
      const std::int64_t wait = i % 4 == 0 ? 600 : 2;
      if (marked) b.Annotation("enumerate(DataLoader)#Iterator.__next__", kMain, at, wait);
      at += wait;
      b.Op("aten::linear", kMain, at, 50);
      b.Op("aten::mse_loss", kMain, at + 50, 20);
      b.Annotation("Optimizer.step#AdamW.step", kMain, at + 80, 20);
      at += 100;
    }
    EXPECT_EQ(WallsUs(StepsOf(b)).size(), 39u) << marked;
  }
}

TEST(InferredSteps, OfTwoNetworksInTurn) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 20; ++i) {  // The discriminator's pass is longer and uses a separate batch.
    b.Annotation("enumerate(DataLoader)#Iterator.__next__", kMain, at, 5);
    for (const std::int64_t length : {800, 200}) {
      b.Op("aten::linear", kMain, at + 10, 50);
      b.Annotation("Optimizer.step#Adam.step", kMain, at + length - 20, 20);
      at += length;
    }
  }
  EXPECT_EQ(WallsUs(StepsOf(b)), Walls(19, 1000));
}

TEST(InferredSteps, OfTwoNetworksInTurnThatTakeEquallyLong) {
  StoreBuilder b, evaluated;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t at = i * 100;
    // One network reads real samples, the other runs backward through both networks.
    for (int k = 0; k < 6; ++k) b.Op("aten::linear", kMain, at + k * 5, 4);
    if (i % 2 == 0) b.Op("aten::softplus", kMain, at + 40, 4);
    for (int k = 0; k < 3 && i % 2 == 1; ++k) b.Op("aten::mm", kMain, at + 40 + k * 5, 4);
    b.Annotation("Optimizer.step#Adam.step", kMain, at + 80, 20);
    b.Op("aten::pin_memory", kOtherThread, at + i, 1 + i % 3);  // A loader's thread does not count.
    for (int k = 0; k < i % 4; ++k) b.Op("aten::copy_", kOtherThread, at + 20 + k * 3, 2);
    // An evaluation only adds operators to every other step.
    for (int k = 0; k < 6; ++k) evaluated.Op("aten::linear", kMain, at + k * 5, 4);
    for (int k = 0; k < 3 && i % 2 == 1; ++k) evaluated.Op("aten::item", kMain, at + 40 + k, 1);
    evaluated.Annotation("Optimizer.step#Adam.step", kMain, at + 80, 20);
  }
  EXPECT_EQ(WallsUs(StepsOf(b)), Walls(5, 200));
  EXPECT_EQ(WallsUs(StepsOf(evaluated)), Walls(11, 100));
}

TEST(InferredSteps, OfDataThatIsAugmentedInTurnAreNoTwoNetworks) {
  StoreBuilder b;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t at = i * 100;
    for (int k = 0; k < 6; ++k) b.Op("aten::linear", kMain, at + k * 5, 4);
    b.Op(i % 2 == 0 ? "aten::flip" : "aten::roll", kMain, at + 45, 4);
    for (int k = 0; k < i % 2; ++k) b.Op("aten::arange", kMain, at + 50, 4);
    for (int k = 0; k < 6; ++k)
      b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, at + 55 + k * 3, 2);
    b.Annotation("Optimizer.step#Adam.step", kMain, at + 80, 20);
  }
  EXPECT_EQ(WallsUs(StepsOf(b)), Walls(11, 100));
}

TEST(InferredSteps, FollowTheOptimizerThatStepsLeastOften) {
  StoreBuilder b;
  for (int i = 0; i < 15; ++i) b.Annotation("Optimizer.step#Adam.step", kMain, i * 20, 5);
  for (int i = 0; i < 3; ++i) b.Annotation("Optimizer.step#SGD.step", kMain, i * 100 + 90, 5);
  EXPECT_EQ(StepsOf(b).steps.marker, "Optimizer.step#SGD.step");
}

TEST(InferredSteps, ElseFollowTheAnnotationThatReturnsEvenly) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    b.Annotation("learn", kMain, i * 100, 90);
    b.Annotation("attention", kMain, i * 100 + 10, 5);
    b.Annotation("attention", kMain, i * 100 + 60, 5);
  }
  for (const int at : {3, 50, 170, 390}) b.Annotation("logging", kMain, at, 5);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.marker, "learn");
  EXPECT_EQ(found.steps.confidence, "medium") << "four marks are few";
}

TEST(InferredSteps, AreNotWhatLayersRun) {
  // In one forward pass, each layer runs the same compiled graph.
  const auto pass = [](const char* frame) {
    StoreBuilder b;
    b.Frame(frame, kMain, 0, 2500);
    for (int i = 0; i < 24; ++i) b.Annotation("## Call CompiledFxGraph f4 ##", kMain, i * 100, 90);
    return StepsOf(b).steps.list.size();
  };
  EXPECT_EQ(pass("nn.Module: GptForCausalLM_0"), 0);
  EXPECT_GT(pass("train.py(12): main"), 20);
}

TEST(InferredSteps, AreNotWhatIsLoggedNowAndThenNorEpochs) {
  StoreBuilder b;
  for (int i = 0; i < 50; ++i) b.Annotation("learn", kMain, i * 100, 90);
  for (int i = 0; i < 5; ++i) b.Annotation("log_metrics", kMain, i * 1000 + 95, 2);
  for (int i = 0; i < 4; ++i) b.Annotation("epoch", kMain, i * 1250, 1240);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.marker, "learn");
  EXPECT_EQ(found.steps.confidence, "medium") << "nothing else says that this is a step";
}

/// Builds ten kernels every 100 us; one of them runs 7 times.
StoreBuilder PeriodicKernels(bool with_launches, int periods) {
  StoreBuilder b;
  for (int i = 0; i < periods; ++i) {
    const int at = i * 100;
    int correlation = i * 100;
    for (const char* name : {"embedding", "layer", "layer", "layer", "layer", "layer", "layer",
                             "layer", "loss", "update"}) {
      const int start = at + 5 * (correlation % 100);
      if (with_launches) b.Call("cudaLaunchKernel", kMain, start, 1, correlation);
      b.Kernel(name, kStream, start + 2, 2, correlation++);
    }
  }
  return b;
}

TEST(InferredSteps, ElseRepeatTheirKernels) {
  for (const bool with_launches : {true, false}) {
    const StepAnalysis found = StepsOf(PeriodicKernels(with_launches, 6));
    EXPECT_EQ(found.steps.source, StepSource::kInferred) << with_launches;
    EXPECT_EQ(found.steps.confidence, "high");
    EXPECT_EQ(found.steps.marker, "10 kernels in the same order");
    EXPECT_EQ(found.steps.list.size(), 6u) << "the last one is whole, too";
    EXPECT_EQ(found.steps.p50, Us(100));
    for (const StepRow& row : found.steps.list) EXPECT_EQ(row.tasks, 10);
  }
}

TEST(InferredSteps, FromKernelsSeeDevicesApart) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    for (const char* name : {"a", "b", "c"}) {
      b.Kernel(name, kStream, i * 100 + name[0] - 'a', 1).Device(0);
      b.Kernel(name, kStream, i * 100 + 13 + name[0] - 'a', 1).Device(1);
    }
  }
  EXPECT_EQ(StepsOf(b).steps.p50, Us(100));
}

TEST(InferredSteps, AreNoneWithoutPeriod) {
  StoreBuilder b;
  for (const int at : {0, 10, 50, 55, 200})
    b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 3, 1);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.source, StepSource::kNone);
  EXPECT_TRUE(found.steps.list.empty());
  EXPECT_FALSE(found.steps.p50);
  EXPECT_EQ(found.steps.tasks_before_first, 0) << "there is no first step";
}

TEST(GivenSteps, BeginAtTheMarker) {
  StoreBuilder b = PeriodicKernels(true, 4);
  for (int i = 0; i < 3; ++i) b.Annotation("epoch_step_" + std::to_string(i), kMain, i * 120, 10);
  AnalysisOptions options;
  options.step_marker = "epoch_step";
  const StepAnalysis found = StepsOf(b, options);
  EXPECT_EQ(found.steps.source, StepSource::kGiven);
  EXPECT_EQ(found.steps.list.size(), 2u);
  EXPECT_EQ(found.steps.list[1].index, 1);
}

TEST(GivenSteps, OfAMarkerThatIsNotThereAreAUsageError) {
  TestTrace trace(PeriodicKernels(true, 4));
  AnalysisOptions options;
  options.step_marker = "no such";
  const Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, options);
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.status().code(), StatusCode::kUsage);
  EXPECT_NE(steps.status().message().find("--step-marker"), std::string::npos);
}

TEST(SelectedSteps, KeepTheirNumbersAndTheirWork) {
  StoreBuilder b;
  for (int i = 5; i < 9; ++i) {
    b.Step(i, kMain, i * 100, 100);
    b.Launch("aten::mm", kMain, i * 100 + 10, kGemm, kStream, i * 100 + 20, 10 * i);
  }
  AnalysisOptions options;
  options.first_step = 6;
  options.last_step = 7;
  const StepAnalysis found = StepsOf(b, options);
  ASSERT_EQ(found.steps.list.size(), 2u);
  EXPECT_EQ(found.steps.list[0].index, 6);
  EXPECT_EQ(WallsUs(found), (Walls{110, 110}))
      << "the first kept one still follows the one before it";
  EXPECT_EQ(found.step_of_task, (std::vector<std::int32_t>{-1, 0, 1, -1}));

  options.first_step = 20;
  options.last_step.reset();
  TestTrace trace(b);
  const Result<StepAnalysis> none = AnalyzeSteps(*trace.store, trace.names, options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("5 to 8"), std::string::npos) << none.status().message();
}

TEST(Queue, DepthIsWhatWasLaunchedAndHasNotStarted) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  for (int i = 0; i < 4; ++i) b.Launch("aten::mm", kMain, i * 10, kGemm, kStream, 100 + i * 50, 50);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.list[0].queue_depth_max, 4);
  EXPECT_DOUBLE_EQ(found.steps.list[0].queue_depth_mean, 2.5);
}

TEST(Queue, CountsAGraphOfKernelsAsOneLaunch) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Call("cudaGraphLaunch", kMain, 0, 5, 1);
  for (int i = 0; i < 50; ++i) b.Kernel(kGemm, kStream, 10 + i * 2, 2, 1);
  b.Call("cudaGraphLaunch", kMain, 20, 5, 2);
  for (int i = 0; i < 50; ++i) b.Kernel(kGemm, kStream, 110 + i * 2, 2, 2);
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.list[0].queue_depth_max, 1);
  EXPECT_DOUBLE_EQ(found.steps.list[0].queue_depth_mean, 1);
}

TEST(ProfilerCost, CountsWhatIsRecordedWhileTheGpuFollowsTheHost) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  // A queue of ten kernels of 50 us hides the cost of recording.
  for (int i = 0; i < 10; ++i) b.Launch("aten::mm", kMain, i * 3, kGemm, kStream, 10 + i * 50, 50);
  for (int i = 0; i < 100; ++i) b.Op("aten::view", kMain, 40 + i * 2, 1);
  b.Launch("aten::mm", kMain, 250, kGemm, kStream, 510, 50);
  const DurationNs queued = StepsOf(b).steps.list[0].profiler_cost;
  EXPECT_LT(queued, Us(20));
  // The cost of the same operators counts once the queue is empty.
  for (int i = 0; i < 100; ++i) b.Op("aten::view", kMain, 600 + i * 2, 1);
  b.Launch("aten::mm", kMain, 900, kGemm, kStream, 910, 50);
  EXPECT_EQ(StepsOf(b).steps.list[0].profiler_cost - queued, DurationNs(100 * 1600 + 1600 + 1100))
      << "and the operator and the call just before";
}

TEST(HostWait, IsIdleThatEndsWithATaskLaunchedTooLate) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 200);
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 20);
  b.Launch("aten::mm", kMain, 60, kGemm, kStream, 70, 20);  // 40 us late.
  b.Launch("aten::mm", kMain, 75, kGemm, kStream, 110,
           20);  // Launched in time: no wait for the host.
  const StepAnalysis found = StepsOf(b);
  EXPECT_EQ(found.steps.list[0].host_wait, Us(50)) << "with the 10 us before the first task";
}

TEST(HostWait, EndsAUsualDelayAfterTheLaunch) {
  StoreBuilder b;
  b.Annotation("ProfilerStep#1", kMain, 0, 200);
  for (const int at : {0, 30, 60}) b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 5, 10);
  // 15 us of the 65 us are late, 5 us of them as launch delay; then the queue stalls.
  b.Launch("aten::mm", kMain, 85, kGemm, kStream, 140, 10);
  const StepAnalysis steps = StepsOf(b);
  EXPECT_EQ(steps.steps.list[0].host_wait, Us(5 + 20 + 20 + 15));
  EXPECT_EQ(steps.queued.Measure(), Us(50));
}

TEST(Steps, ManyThreadsAndStepsTakeNoQuadraticTime) {
  StoreBuilder b;
  constexpr int kMany = 50'000;
  for (int i = 0; i < kMany; ++i) {
    b.Step(i, kMain, i * 10, 10);
    b.Op("aten::add", 1000 + i, kMany * 10 - 5, 1);
  }
  b.Launch("aten::mm", kMain, 5, kGemm, kStream, 6, kMany * 10);
  EXPECT_EQ(StepsOf(b).steps.list.size(), static_cast<std::size_t>(kMany));
}

/// Builds five steps of 100 us. Before the fourth one the loop waits 60 us for its loader.
StoreBuilder LoaderBetween(const char* mark, bool first_batch = false) {
  StoreBuilder b;
  std::int64_t at = 1000;
  for (int i = 0; i < 5; ++i) {
    if (i == 3) {
      if (first_batch) b.Frame("torch/utils/data/dataloader.py(489): __iter__", kMain, at, 59);
      b.Annotation("enumerate(DataLoader)#Iterator.__next__", kMain, at, 60);
      at += 60;
    }
    if (*mark != '\0') b.Region(mark + std::to_string(i), kMain, at, 100);
    b.Launch("aten::mm", kMain, at + 1, kGemm, kStream, at + 2, 80);
    b.Annotation("Optimizer.step#Adam.step", kMain, at + 85, 14);
    at += 100;
  }
  return b;
}

TEST(Steps, HoldTheTimeInTheirLoader) {
  const auto loading = [](const StoreBuilder& b) {
    std::vector<std::int64_t> us;
    for (const StepRow& row : StepsOf(b).steps.list) us.push_back(row.loading.ns() / 1000);
    return us;
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(loading(LoaderBetween("ProfilerStep#")), (List{0, 0, 0, 60, 0})) << "between marks";
  EXPECT_EQ(loading(LoaderBetween("")), (List{0, 0, 60, 0})) << "between optimizers";
  EXPECT_EQ(loading(LoaderBetween("ProfilerStep#", true)), (List{0, 0, 0, 0, 0}))
      << "the start of an epoch";
}

}  // namespace steps_test
}  // namespace headroom
