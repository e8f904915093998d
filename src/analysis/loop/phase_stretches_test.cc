#include "analysis/loop/phase_stretches.h"

#include "analysis/test_trace.h"

namespace headroom {
namespace phase_stretches_test {

// Builds two batches that are accumulated before one update.
TestTrace TwoPasses() {
  StoreBuilder b;
  b.Step(1, kMain, 0, 200);
  b.Op("aten::mm", kMain, 10, 10).Sequence(1);
  b.Op("aten::relu", kMain, 25, 5).Sequence(2);
  b.Op("ReluBackward0", kAutograd, 40, 10).Sequence(2).ForwardThread(1);
  b.Op("MmBackward0", kAutograd, 55, 5).Sequence(1).ForwardThread(1);
  b.Op("aten::mm", kMain, 70, 10).Sequence(3);
  b.Op("MmBackward0", kAutograd, 90, 30).Sequence(3).ForwardThread(1);
  b.Annotation("Optimizer.step#SGD.step", kMain, 130, 20);
  return TestTrace(b);
}

TEST(PhaseStretches, JoinWhatNoOtherPassParts) {
  const TestTrace trace = TwoPasses();
  const PassesOfProcesses all(*trace.store, trace.attribution);
  const PhaseStretches& passes = all.Of(ProcessId(0u));
  const Interval first{AtUs(40), AtUs(60)}, second{AtUs(90), AtUs(120)};
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kBackward, AtUs(0)), first);
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kBackward, AtUs(50)), first);
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kBackward, AtUs(60)), second);
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kBackward, AtUs(120)), std::nullopt);
  EXPECT_EQ(passes.LastThatBeginsBy(Phase::kBackward, AtUs(39)), std::nullopt);
  EXPECT_EQ(passes.LastThatBeginsBy(Phase::kBackward, AtUs(40)), first);
  EXPECT_EQ(passes.LastThatBeginsBy(Phase::kBackward, AtUs(200)), second);
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kForward, AtUs(0)), (Interval{AtUs(10), AtUs(30)}));
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kOptimizer, AtUs(0)), (Interval{AtUs(130), AtUs(150)}));
}

TEST(PhaseStretches, OfAnotherProcessAreNone) {
  const TestTrace trace = TwoPasses();
  const PassesOfProcesses all(*trace.store, trace.attribution);
  const PhaseStretches& passes = all.Of(ProcessId::None());
  EXPECT_EQ(passes.NextThatEndsAfter(Phase::kForward, AtUs(0)), std::nullopt);
}

}  // namespace phase_stretches_test
}  // namespace headroom
