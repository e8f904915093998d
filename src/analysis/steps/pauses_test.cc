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
      Work(90, 1000).Wait(10);
    }
    return *this;
  }
  /// @param copied  bytes; 0: nothing is copied to the device
  Loop& Work(std::int64_t us, std::int64_t copied) {
    if (copied > 0) {
      builder_.Call("cudaMemcpyAsync", kMain, at_, 1, at_);
      builder_.Copy(CopyKind::kHostToDevice, kStream, at_ + 2, 3, at_).Bytes(copied);
    }
    builder_.Launch("aten::mm", kMain, at_ + 2, kGemm, kStream, at_ + 5, us - 5);
    return Wait(us);
  }
  Loop& Annotate(const char* name, std::int64_t us) {
    builder_.Annotation(name, kMain, at_, us);
    return *this;
  }
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
  EXPECT_EQ(loop.WallUs(4), 90);
  EXPECT_EQ(Loop().Steps(4).Work(300, 0).Steps(4).StepsAfterPause(), Rows{4});
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

TEST(Pauses, AreLongerThanATenthOfAStep) {
  EXPECT_EQ(Loop().Steps(4).Work(9, 1000).Steps(4).StepsAfterPause(), Rows());
}

TEST(Pauses, AreNotBeforeMostSteps) {
  Loop loop;
  for (int i = 0; i < 6; ++i) loop.Steps(1).Work(60, 1000);
  EXPECT_EQ(loop.StepsAfterPause(), Rows());
  EXPECT_EQ(loop.WallUs(4), 160);
}

TEST(Pauses, HoldLongGapsWithoutEvents) {
  EXPECT_EQ(Loop().Steps(4).Wait(301).Steps(4).StepsAfterPause(), Rows{4});
  EXPECT_EQ(Loop().Steps(4).Wait(290).Steps(4).StepsAfterPause(), Rows());
  EXPECT_EQ(Loop().Steps(4).Annotate("shuffle", 20).Wait(301).Steps(4).StepsAfterPause(), Rows());
}

}  // namespace pauses_test
}  // namespace headroom
