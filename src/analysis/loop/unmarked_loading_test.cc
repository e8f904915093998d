#include "analysis/loop/unmarked_loading.h"

#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace unmarked_loading_test {

/// Builds four steps: a loader of `load` us, a pass, an update. `add` may add events to the
/// loader's time, which begins at the given moment.
template <typename Add>
StoreBuilder Loop(std::int64_t load, Add add) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t pass = at + load;
    b.Step(i, kMain, at, load + 1000);
    add(b, at);
    b.Launch("aten::linear", kMain, pass, kGemm, kStream, pass + 5, 400);
    b.Annotation("Optimizer.step#SGD.step", kMain, pass + 500, 100);
    b.Launch("aten::_foreach_add_", kMain, pass + 510, kAdd, kStream, pass + 515, 50);
    b.Call("cudaStreamSynchronize", kMain, pass + 600, 390);
    at += load + 1000;
  }
  return b;
}

struct Found {
  DurationNs time;
  std::string longest;
};
Found Find(const StoreBuilder& builder) {
  TestTrace trace(builder);
  const Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  const UnmarkedLoading found =
      FindUnmarkedLoading(*trace.store, trace.names, trace.attribution, steps.value());
  return {found.time.Measure(),
          found.longest.valid()
              ? std::string(trace.store->Text(trace.store->host_events.name[found.longest.index()]))
              : ""};
}

void Nothing(StoreBuilder&, std::int64_t) {}

TEST(UnmarkedLoading, IsBetweenUpdateAndPass) {
  const Found found = Find(Loop(2000, Nothing));
  // Includes 10 us after each synchronization but the last.
  EXPECT_EQ(found.time, Us(4 * 2000 + 3 * 10));
  EXPECT_EQ(found.longest, "");
  EXPECT_EQ(Find(Loop(30, Nothing)).time, Us(0)) << "less than 5 % of the step";
}

TEST(UnmarkedLoading, IsNamedByWhatItDoes) {
  const Found found = Find(Loop(2000, [](StoreBuilder& b, std::int64_t at) {
    b.Frame("dataset.py(12): next_batch", kMain, at + 10, 1900);
    b.Frame("dataset.py(30): decode", kMain, at + 20, 100);
    b.Op("aten::stack", kMain, at + 1000, 500);
  }));
  EXPECT_EQ(found.time, Us(4 * 2000 + 3 * 10));
  EXPECT_EQ(found.longest, "dataset.py(12): next_batch");
}

TEST(UnmarkedLoading, IsNotWhatSaysSomethingElse) {
  const auto frame = [](const char* name) {
    return Find(Loop(2000,
                     [name](StoreBuilder& b, std::int64_t at) { b.Frame(name, kMain, at, 2000); }))
        .time;
  };
  EXPECT_EQ(frame("torch/serialization.py(370): save"), Us(0));
  EXPECT_EQ(frame("train.py(3): log_step"), Us(0));
  EXPECT_EQ(frame("gc.collect"), Us(0));
  EXPECT_EQ(frame("torch/optim/lr_scheduler.py(137): wrapper"), Us(0));
  EXPECT_EQ(frame("train.py(61): update_ema"), Us(0));
  EXPECT_NE(frame("log.py(3): next_sample"), Us(0)) << "the function's name counts";
  EXPECT_NE(frame("train.py(3): catalog"), Us(0)) << "words count";
}

TEST(UnmarkedLoading, IsNoCallAndNoWorkOfTheGpu) {
  EXPECT_EQ(Find(Loop(2000, [](StoreBuilder& b,
                               std::int64_t at) { b.Call("cudaHostAlloc", kMain, at, 1990); }))
                .time,
            Us(0));
  EXPECT_EQ(Find(Loop(2000,
                      [](StoreBuilder& b, std::int64_t at) {
                        b.Launch("aten::copy_", kOtherThread, at - 20, kAdd, kSideStream, at - 15,
                                 2030);
                      }))
                .time,
            Us(0))
      << "the host may wait for that";
}

TEST(UnmarkedLoading, IsNotSoughtWhereALoaderIsMarked) {
  EXPECT_EQ(Find(Loop(2000,
                      [](StoreBuilder& b, std::int64_t at) {
                        b.Annotation(
                            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain,
                            at, 10);
                      }))
                .time,
            Us(0));
}

TEST(UnmarkedLoading, HoldsTheStepBack) {
  const TraceReport report = AnalyzeTrace(Loop(2000, Nothing));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kInput);
  EXPECT_EQ(report.bottleneck.confidence, "medium");
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.front().id, "data-wait");
}

}  // namespace unmarked_loading_test
}  // namespace headroom
