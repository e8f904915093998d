#include "analysis/steps/pauses.h"

#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace pauses_test {

/// A loop. Each step copies its batch of 1000 bytes to the device, computes for 90 us and waits for
/// the result. Other work runs between steps.
class Loop {
 public:
  Loop& Steps(int count) {
    for (int i = 0; i < count; ++i) {
      builder_.Step(number_++, kMain, at_, 100);
      builder_.Annotation("encoder", kMain, at_ + 1, 80);
      builder_.Launch("aten::add", kMain, at_ + 96, kAdd, kStream, at_ + 97, 1);
      Work(90, 1000).Wait(10);
    }
    return *this;
  }
  /// @param copied  bytes; 0 for no copy to the device
  Loop& Work(std::int64_t us, std::int64_t copied, const char* kernel = kGemm) {
    if (copied != 0) {
      builder_.Call("cudaMemcpyAsync", kMain, at_, 1, at_);
      builder_.Copy(CopyKind::kHostToDevice, kStream, at_ + 2, 3, at_).Bytes(copied);
    }
    builder_.Launch("aten::mm", kMain, at_ + 2, kernel, kStream, at_ + 5, us - 5);
    return Wait(us);
  }
  Loop& Annotate(const char* name, std::int64_t us, std::int64_t thread = kMain) {
    builder_.Annotation(name, thread, at_, us);
    return *this;
  }
  /// Skips steps that were not recorded.
  Loop& Skip(std::int64_t steps) { return number_ += steps, *this; }
  Loop& Wait(std::int64_t us) { return at_ += us, *this; }

  std::vector<std::size_t> StepsAfterPause() const {
    std::vector<std::size_t> rows;
    const std::vector<StepRow> steps = Analyze().steps.list;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].after_pause) rows.push_back(i);
    }
    return rows;
  }
  std::int64_t WallUs(std::size_t step) const {
    return Analyze().steps.list[step].wall.ns() / 1000;
  }

 private:
  StepAnalysis Analyze() const {
    TestTrace trace(builder_);
    return AnalyzeSteps(*trace.store, trace.names, {}).value();
  }

  StoreBuilder builder_;
  std::int64_t at_ = 1000, number_ = 0;
};

using Rows = std::vector<std::size_t>;

TEST(Pauses, HoldAnEvaluationWithoutAName) {
  const Loop loop = Loop().Steps(4).Work(300, 1000).Steps(4);
  EXPECT_EQ(loop.StepsAfterPause(), Rows{4});
  EXPECT_EQ(loop.WallUs(4), 98);
}

TEST(Pauses, ExcludeWorkThatCopiesNoBatch) {
  EXPECT_EQ(Loop().Steps(4).Work(300, 0).Steps(4).StepsAfterPause(), Rows()) << "an update";
  EXPECT_EQ(Loop().Steps(4).Work(300, -1).Steps(4).StepsAfterPause(), Rows()) << "size unknown";
}

TEST(Pauses, ExcludeWorkThatIsNoForwardPass) {
  for (const char* kernel : {"multi_tensor_apply_kernel<FusedAdam>", "render_scene", kAdd}) {
    EXPECT_EQ(Loop().Steps(4).Work(300, 1000, kernel).Steps(4).StepsAfterPause(), Rows()) << kernel;
  }
}

TEST(Pauses, ExcludeWorkOfAnotherName) {
  const auto after = [](const char* name) {
    return Loop().Steps(4).Annotate(name, 300).Work(300, 1000).Steps(4).StepsAfterPause();
  };
  EXPECT_EQ(after("update_ema"), Rows());
  EXPECT_EQ(after("encoder"), Rows{4}) << "steps have it, too";
}

TEST(Pauses, ExcludeRollouts) {
  const Loop loop = Loop().Steps(4).Work(300, 100).Steps(4);
  EXPECT_EQ(loop.StepsAfterPause(), Rows());
  EXPECT_EQ(loop.WallUs(4), 400);
}

TEST(Pauses, HoldAnEvaluationWithAName) {
  EXPECT_EQ(Loop().Steps(4).Annotate("validation", 300).Work(300, 100).Steps(4).StepsAfterPause(),
            Rows{4});
  EXPECT_EQ(Loop().Steps(4).Annotate("rollout", 300).Work(300, 100).Steps(4).StepsAfterPause(),
            Rows());
}

TEST(Pauses, ExcludeEvaluationsAroundTheLoopOrOnAnotherThread) {
  // A fetch before the fifth step.
  EXPECT_EQ(Loop()
                .Annotate("validation", 2000)
                .Steps(4)
                .Annotate("fetch", 250)
                .Wait(250)
                .Steps(4)
                .StepsAfterPause(),
            Rows());
  EXPECT_EQ(Loop()
                .Steps(4)
                .Annotate("validation", 250, kOtherThread)
                .Annotate("fetch", 250)
                .Wait(250)
                .Steps(4)
                .StepsAfterPause(),
            Rows());
}

TEST(Pauses, AreLongerThanATenthOfAStep) {
  EXPECT_EQ(Loop().Steps(4).Work(9, 1000).Steps(4).StepsAfterPause(), Rows());
}

TEST(Pauses, AreNotBeforeMostSteps) {
  Loop loop;
  for (int i = 0; i < 6; ++i) loop.Steps(1).Work(60, 1000);
  EXPECT_EQ(loop.StepsAfterPause(), Rows());
  EXPECT_EQ(loop.WallUs(4), 160);
}

TEST(Pauses, WithoutEventsAreNotBeforeMostSteps) {
  Loop loop;
  for (int i = 0; i < 6; ++i) loop.Steps(1).Wait(400);
  EXPECT_EQ(loop.StepsAfterPause(), Rows());
  Loop with_profiler_off;
  for (int i = 0; i < 6; ++i) with_profiler_off.Steps(1).Skip(4).Wait(400);
  EXPECT_EQ(with_profiler_off.StepsAfterPause(), (Rows{1, 2, 3, 4, 5}));
}

TEST(Pauses, ExcludeGpuWork) {
  EXPECT_EQ(Loop().Steps(4).Work(300, 100).Wait(60).Steps(4).StepsAfterPause(), Rows());
}

TEST(Pauses, HoldLongGapsWithoutEvents) {
  EXPECT_EQ(Loop().Steps(4).Wait(301).Steps(4).StepsAfterPause(), Rows{4});
  EXPECT_EQ(Loop().Steps(4).Wait(290).Steps(4).StepsAfterPause(), Rows());
  EXPECT_EQ(Loop().Steps(4).Annotate("shuffle", 20).Wait(301).Steps(4).StepsAfterPause(), Rows());
}

}  // namespace pauses_test
}  // namespace headroom
