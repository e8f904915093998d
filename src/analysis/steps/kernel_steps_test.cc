#include "analysis/steps/kernel_steps.h"

#include <string>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace kernel_steps_test {

constexpr const char* kFusedAdam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>";

/// Kernels of one stream, 10 us each, without gaps. With `launched`, their launches run much
/// earlier.
class Stream {
 public:
  explicit Stream(bool launched = false) : launched_(launched) {}

  Stream& Run(const std::vector<std::string>& names, int times = 1) {
    for (int i = 0; i < times; ++i) {
      for (const std::string& name : names) {
        if (launched_) b.Call("cudaLaunchKernel", kMain, launch_, 1, number_);
        b.Kernel(name, kStream, at_, 10, launched_ ? std::optional(number_) : std::nullopt);
        ++number_;
        launch_ += 2;
        at_ += 10;
      }
    }
    return *this;
  }
  Stream& Pause(std::int64_t us) { return at_ += us, *this; }
  Stream& CopyIn() {
    b.Copy(CopyKind::kHostToDevice, kStream, at_, 5);
    return Pause(5);
  }

  KernelSteps Find() {
    TestTrace trace(b);
    return FindKernelSteps(*trace.store, trace.names);
  }

  StoreBuilder b;

 private:
  bool launched_;
  std::int64_t at_ = 1000, launch_ = 0, number_ = 0;
};

std::vector<std::string> Layers(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.insert(names.end(), {"norm", "attention", "mlp"});
  return names;
}

std::vector<std::string> Join(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::int64_t> LengthsUs(const KernelSteps& steps) {
  std::vector<std::int64_t> lengths;
  for (const Interval& span : steps.spans) lengths.push_back(span.length().ns() / 1000);
  return lengths;
}

using Lengths = std::vector<std::int64_t>;

TEST(KernelSteps, RepeatTheSameKernels) {
  for (const bool launched : {false, true}) {
    const KernelSteps steps = Stream(launched).Run({"a", "b", "c", "d", "e"}, 10).Find();
    EXPECT_EQ(steps.spans.size(), 10u);
    EXPECT_EQ(steps.kernels, 5u);
    EXPECT_EQ(steps.exact, 10u);
    EXPECT_EQ(steps.on_gpu, !launched);
    EXPECT_EQ(LengthsUs(steps).front(), launched ? 10 : 50);
    EXPECT_DOUBLE_EQ(steps.covered, 1);
  }
}

TEST(KernelSteps, HoldTheirLayers) {
  const KernelSteps steps = Stream().Run(Join({"embed"}, Join(Layers(12), {"head"})), 4).Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(4, 380));
}

TEST(KernelSteps, AreNotTheLayersOfOnePass) {
  const KernelSteps steps = Stream().CopyIn().Run(Layers(12)).Run({"pool", "head"}).Find();
  EXPECT_EQ(steps.spans.size(), 0u);
  EXPECT_EQ(steps.layers, 12u);
  EXPECT_EQ(Stream().Run({"embed"}).Run(Layers(12)).Run({"head"}).Find().layers, 12u);
}

TEST(KernelSteps, AreTokensBehindAPrefillThatSharesLayers) {
  Stream stream;
  stream.Run(Join({"embed"}, Join(Layers(60), {"head"})));
  for (int token = 0; token < 10; ++token) {
    std::vector<std::string> pass = {"embed"};
    for (int layer = 0; layer < 12; ++layer) pass = Join(pass, {"norm", "attention", "split"});
    stream.Run(Join(pass, {"head"}));
  }
  const KernelSteps steps = stream.Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(10, 380));
}

TEST(KernelSteps, AreNotTheLayersOfAPassWithoutAHead) {
  constexpr const char* kEmbed = "void at::native::indexSelectLargeIndex<float, long>";
  constexpr const char* kHead = "ampere_sgemm_128x64_nn";
  EXPECT_EQ(Stream().CopyIn().Run({kEmbed}).Run(Layers(12)).Find().layers, 12u);
  EXPECT_EQ(Stream().Run(Layers(12)).Run({kHead}).Find().layers, 12u);
  // These are loops: after a copy, after a search for algorithms, and before a check of the result.
  EXPECT_EQ(Stream().CopyIn().Run(Layers(12)).Find().spans.size(), 12u);
  EXPECT_EQ(Stream().Run({kHead, "find"}, 10).Run(Layers(40)).Find().spans.size(), 40u);
  EXPECT_EQ(Stream().Run(Layers(12)).Run({"compare"}).Find().spans.size(), 12u);
}

TEST(KernelSteps, AreTheRepetitionsBehindWarmUp) {
  const KernelSteps steps =
      Stream().Run({"init", "find1", "find2"}).Run({"a", "b", "c", "d", "e"}, 8).Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(8, 50));
}

TEST(KernelSteps, OfATrainingLoopBeginBehindTheOptimizer) {
  // Recording began in the middle of a step.
  const std::vector<std::string> step = {"forward", "loss", "backward1", "backward2", kFusedAdam};
  const KernelSteps steps =
      Stream().Run({"backward1", "backward2", kFusedAdam}).Run(step, 5).Run({"forward"}).Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(5, 50));
  EXPECT_EQ(steps.spans.front().start, AtUs(1030));
}

TEST(KernelSteps, BeginWithTheCopyOfTheirBatch) {
  Stream stream;
  for (int i = 0; i < 5; ++i) stream.Pause(100).CopyIn().Run({"a", "b", "c", "d", "e"});
  const KernelSteps steps = stream.Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(5, 155));
  EXPECT_EQ(steps.spans.front().start, AtUs(1100));
}

TEST(KernelSteps, HoldSeveralMicroBatches) {
  const std::vector<std::string> micro = {"forward", "loss", "backward", "accumulate"};
  Stream stream;
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) stream.CopyIn().Run(micro);
    stream.Run({kFusedAdam});
  }
  EXPECT_EQ(stream.Find().spans.size(), 5u);
}

TEST(KernelSteps, MayHoldAFewOtherKernels) {
  std::vector<std::string> step = Join(Layers(6), {"loss", "backward", kFusedAdam});
  Stream stream;
  for (int i = 0; i < 9; ++i) {
    stream.Run(step);
    if (i % 3 == 2) stream.Run({"log"});
  }
  const KernelSteps steps = stream.Find();
  EXPECT_EQ(steps.spans.size(), 9u);
  EXPECT_EQ(steps.kernels, step.size());
}

TEST(KernelSteps, AreNotInterruptedByWhatRunsBetweenThem) {
  const std::vector<std::string> step = {"a", "b", "c", "d", kFusedAdam};
  const KernelSteps steps =
      Stream().Run(step, 6).Run({"v1", "v2", "v3", "v4", "v5", "v6", "v7"}).Run(step, 6).Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(12, 50)) << "what ran in between is in no step";
}

TEST(KernelSteps, WithAnUpdateGoBeforeTheirLayers) {
  // Layers alone cover more time than the identical steps.
  const std::vector<std::string> step = Join(Layers(12), {"loss", kFusedAdam});
  Stream logged;
  for (int i = 0; i < 7; ++i) {
    logged.Run(step);
    if (i % 3 == 0) logged.Run({"log"});
  }
  EXPECT_EQ(logged.Find().spans.size(), 7u);
  // The passes of an evaluation between the steps also cover more time.
  const KernelSteps steps = Stream().Run(step, 4).Run(Layers(4), 12).Run(step, 4).Find();
  EXPECT_EQ(LengthsUs(steps), Lengths(8, 380));
}

TEST(KernelSteps, ExcludeAnEvaluationEveryFewSteps) {
  const std::vector<std::string> forward = Layers(4);
  const std::vector<std::string> step = Join(forward, {"loss", "backward", kFusedAdam});
  for (const int count : {3, 4, 5}) {
    for (int before = 0; before < count; ++before) {
      // The recording may begin at any step.
      Stream stream;
      for (int k = 0; k < before; ++k) stream.CopyIn().Run(step);
      for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 30; ++k) stream.CopyIn().Run(forward);
        for (int k = 0; k < count; ++k) stream.CopyIn().Run(step);
      }
      const KernelSteps steps = stream.Find();
      EXPECT_EQ(steps.kernels, step.size()) << count << " steps, " << before << " before";
      EXPECT_EQ(steps.spans.size(), static_cast<std::size_t>(4 * count + before));
    }
  }
}

TEST(KernelSteps, OfReinforcementLearningHoldTheirRollouts) {
  const std::vector<std::string> forward = Layers(4);
  const std::vector<std::string> update = Join(forward, {"loss", "backward", kFusedAdam});
  Stream stream;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 30; ++k) stream.CopyIn().Run(forward).Run({"sample"});
    stream.Run(update, 5);
  }
  const KernelSteps steps = stream.Find();
  EXPECT_EQ(steps.kernels, 30 * (forward.size() + 1) + 5 * update.size());
}

TEST(KernelSteps, MayHoldTwoUpdates) {
  // Two networks with the same layers are trained alternately.
  const std::vector<std::string> step =
      Join(Join(Layers(4), {kFusedAdam}), Join(Layers(9), {"loss", kFusedAdam}));
  const KernelSteps steps = Stream().Run(step, 8).Find();
  EXPECT_EQ(steps.kernels, step.size());
  EXPECT_GE(steps.spans.size(), 7u);
}

TEST(KernelSteps, MayTakeAnotherProductEachTime) {
  // Libraries choose kernels by size, and sequences differ in length.
  const std::vector<std::string> products = {"ampere_sgemm_128x64_nn", "ampere_sgemm_64x64_nn",
                                             "ampere_sgemm_32x32_nn", "ampere_sgemm_128x128_nn",
                                             "ampere_sgemm_32x128_nn"};
  Stream stream;
  for (const std::string& product : products)
    stream.Run({"embed", product, "gelu", product, "loss", "grad", kFusedAdam});
  const KernelSteps steps = stream.Find();
  EXPECT_EQ(steps.spans.size(), 5u);
  EXPECT_TRUE(steps.of_families);
}

TEST(KernelSteps, AreNoneWhereNothingRepeats) {
  const KernelSteps steps = Stream().Run({"a", "b", "c", "d", "e", "f", "a", "c", "g"}).Find();
  EXPECT_TRUE(steps.spans.empty());
  EXPECT_EQ(steps.layers, 0u);
}

TEST(KernelSteps, MayBeGraphsThatAreRecordedAsOneTask) {
  StoreBuilder graphs, kernels;
  for (int i = 0; i < 10; ++i) {
    graphs.Call("cudaGraphLaunch", kMain, i * 100, 5, i);
    graphs.Kernel("graph 7", kStream, i * 100 + 10, 80, i);
    kernels.Call("cudaLaunchKernel", kMain, i * 100, 5, i);
    kernels.Kernel("gemm", kStream, i * 100 + 10, 80, i);
  }
  TestTrace of_graphs(graphs), of_kernels(kernels);
  EXPECT_EQ(FindKernelSteps(*of_graphs.store, of_graphs.names).spans.size(), 10u);
  EXPECT_TRUE(FindKernelSteps(*of_kernels.store, of_kernels.names).spans.empty());
}

TEST(KernelSteps, BeginWhereTheReplayOfAGraphBegins) {
  // The longest gap between kernels is inside: a copy fills it.
  StoreBuilder b;
  constexpr int kReplays = 4;
  for (int i = 0; i < kReplays; ++i) {
    b.Call("cudaGraphLaunch", kMain, i * 100, 5, i);
    for (int k = 0; k < 5; ++k)
      b.Kernel(std::string(1, static_cast<char>('a' + k)), kStream, i * 100 + 10 + k * 11, 10, i);
    b.Copy(CopyKind::kDeviceToDevice, kStream, i * 100 + 66, 22, i);
    b.Kernel("f", kStream, i * 100 + 90, 18, i);
  }
  TestTrace trace(b);
  EXPECT_EQ(FindKernelSteps(*trace.store, trace.names).spans.size(), std::size_t{kReplays});
}

TEST(KernelSteps, AreNotTheLayersOfTwoPasses) {
  // Layers take most of the time, with other work around them each time: the pass is a step, a
  // layer is not.
  const std::vector<std::string> pass = Join(Layers(8), {"loss", "grad1", "grad2", kFusedAdam});
  EXPECT_EQ(Stream().Run(pass).Find().spans.size(), 0u);
  EXPECT_EQ(LengthsUs(Stream().Run(pass, 2).Find()), Lengths(2, 280));
}

TEST(KernelSteps, AreSearchedOnTheStreamThatHoldsAllOfThem) {
  // Half of the kernel time is on a stream that runs only part of each step.
  Stream stream;
  stream.Run({"a", "b", "c", "d", "e", "f"}, 4);
  for (int i = 0; i < 48; ++i) {
    stream.b.Kernel("cell", kSideStream, 1000 + i * 10, 3);
    stream.b.Kernel("gates", kSideStream, 1005 + i * 10, 4);
  }
  EXPECT_EQ(LengthsUs(stream.Find()), Lengths(4, 60));
}

TEST(KernelSteps, OfEqualLayersAreToldByPauses) {
  Stream stream;
  for (int i = 0; i < 5; ++i) stream.Run(Layers(6)).Pause(50);
  const KernelSteps steps = stream.Find();
  EXPECT_TRUE(steps.by_times);
  EXPECT_EQ(steps.spans.size(), 5u);
}

TEST(KernelSteps, OfOneGraphLaunchAreSpansOfTheGpusTime) {
  StoreBuilder b;
  b.Call("cudaGraphLaunch", kMain, 0, 5, 1);
  for (int i = 0; i < 12; ++i) {
    for (const char* name : {"a", "b", "c"})
      b.Kernel(name, kStream, 10 + i * 30 + (name[0] - 'a') * 10, 10, 1);
  }
  TestTrace trace(b);
  const KernelSteps steps = FindKernelSteps(*trace.store, trace.names);
  EXPECT_TRUE(steps.on_gpu);
  EXPECT_EQ(LengthsUs(steps), Lengths(12, 30));
}

}  // namespace kernel_steps_test
}  // namespace headroom
