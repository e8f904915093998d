#include "analysis/names/feeders.h"

#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace feeders_test {

constexpr const char* kFetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

/// Builds four steps of 1000 us, each with a fetch of 560 us on the thread `fetching`.
StoreBuilder Loop(std::int64_t fetching, bool has_marks) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at = i * 1000;
    if (has_marks) b.Step(i, kMain, at, 1000);
    b.Annotation(kFetch, fetching, at + 10, 560);
    b.Launch("aten::stack", fetching, at + 20, kAdd, kSideStream, at + 30, 10);
    for (const std::int64_t launch : {600, 610, 620})
      b.Launch("aten::mm", kMain, at + launch, kGemm, kStream, at + launch + 5, 5);
  }
  return b;
}

bool IsFeeder(const StoreBuilder& builder, std::int64_t thread) {
  TestTrace trace(builder);
  const std::vector<bool> feeders = FindFeeders(*trace.store, trace.names);
  for (std::size_t t = 0; t < feeders.size(); ++t) {
    if (trace.store->Text(trace.store->threads.tid[t]) == std::to_string(thread)) return feeders[t];
  }
  return false;
}

TEST(Feeders, FetchWhileAnotherThreadRunsTheLoop) {
  for (const bool has_marks : {true, false}) {
    EXPECT_TRUE(IsFeeder(Loop(kOtherThread, has_marks), kOtherThread)) << has_marks;
    EXPECT_FALSE(IsFeeder(Loop(kOtherThread, has_marks), kMain)) << has_marks;
    EXPECT_FALSE(IsFeeder(Loop(kMain, has_marks), kMain)) << has_marks;
  }
}

TEST(Feeders, AreNotLoopsWhoseBackwardPassLaunchesMore) {
  StoreBuilder b = Loop(kMain, false);
  for (int i = 0; i < 4; ++i) {
    for (const std::int64_t launch : {700, 710, 720, 730})
      b.Launch("aten::mm", kAutograd, i * 1000 + launch, kGemm, kStream, i * 1000 + launch + 5, 5);
  }
  EXPECT_FALSE(IsFeeder(b, kMain));
}

TEST(Feeders, AreOfTheirOwnProcess) {
  StoreBuilder b = Loop(kMain, true);
  b.InProcess("2").Annotation(kFetch, kOtherThread, 10, 100);
  EXPECT_FALSE(IsFeeder(b, kOtherThread)) << "nobody else runs a loop there";
}

TEST(Feeders, DoNotMakeTheLoopWait) {
  const TraceReport fed = AnalyzeTrace(Loop(kOtherThread, true));
  EXPECT_EQ(fed.breakdown->step.data_wait, Us(0));
  EXPECT_EQ(fed.loop->data_wait, Us(0));
  EXPECT_FALSE(fed.input_wait);
  const TraceReport waits = AnalyzeTrace(Loop(kMain, true));
  EXPECT_EQ(waits.loop->data_wait, Us(560));
}

}  // namespace feeders_test
}  // namespace headroom
