// data-loading, callbacks and horizontal-fusion: the loop's work around the step.
#include <gtest/gtest.h>

#include "whatif/test_forecast.h"

namespace headroom {
namespace loop_test {

/// Two steps of 500 us on the host: 300 us in a range with the given name, then a kernel of 10 us.
StoreBuilder WithRange(const char* range) {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 500 * step, 500);
    b.Annotation(range, kMain, 500 * step + 10, 300);
    b.Launch("aten::mm", kMain, 500 * step + 400, kGemm, kStream, 500 * step + 410, 10);
  }
  return b;
}

TEST(DataLoadingTest, TheLoopDoesNotWait) {
  TestForecasts job(WithRange("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"));
  EXPECT_DOUBLE_EQ(job.StepUs(), 500);
  EXPECT_DOUBLE_EQ(job.StepUs("data-loading:ideal"), 200);
  EXPECT_DOUBLE_EQ(job.StepUs("data-loading"), 200);
  EXPECT_EQ(job.WhyNot("data-loading:workers=4"),
            "requires data on the loader's workers: record with `headroom record`, because "
            "PyTorch's profiler does not record the workers");
}

TEST(DataLoadingTest, AbstainsWithoutARange) {
  TestForecasts job(WithRange("something else"));
  EXPECT_NE(job.WhyNot("data-loading").find("no range of a data loader"), std::string::npos);
  EXPECT_NE(job.WhyNot("callbacks").find("no callback range"), std::string::npos);
}

TEST(CallbacksTest, BesideTheLoopOrSeldom) {
  TestForecasts job(WithRange("Callback.on_train_batch_end"));
  EXPECT_DOUBLE_EQ(job.StepUs("callbacks:async"), 200);
  // A tenth of 300 us per step.
  EXPECT_DOUBLE_EQ(job.StepUs("callbacks:every=10"), 230);
}

/// Three steps of 500 us without GPU work: 300 us in a range, then an operator of 100 us.
StoreBuilder OnTheCpu(const char* range) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step(step, kMain, 500 * step, 500);
    b.Annotation(range, kMain, 500 * step + 10, 300);
    b.Op("aten::mm", kMain, 500 * step + 350, 100);
  }
  return b;
}

/// The graph has a call of 1 ns at the end of each step.
constexpr double kCallUs = 1e-3 * (1 + 1e-6);

TEST(CpuJobTest, TheHostsWorkIsForecast) {
  TestForecasts loading(OnTheCpu("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"));
  EXPECT_FALSE(loading.job().HasGpuWork());
  EXPECT_DOUBLE_EQ(loading.StepUs(), 500);
  EXPECT_DOUBLE_EQ(loading.StepUs("data-loading"), 200);
  EXPECT_NEAR(loading.StepUs("host-speed:factor=2"), 250, kCallUs);
  EXPECT_DOUBLE_EQ(loading.StepUs("host-speed:factor=1"), 500);
  EXPECT_NEAR(loading.StepUs("data-loading+host-speed:factor=2"), 100, kCallUs);
  TestForecasts callbacks(OnTheCpu("Callback.on_train_batch_end"));
  EXPECT_DOUBLE_EQ(callbacks.StepUs("callbacks:every=10"), 230);
}

/// Three steps of 10 ms on the CPU: a product of 4 ms, a ReLU of 2 ms, and an update of 2 ms over
/// 2^20 parameters.
StoreBuilder Training() {
  StoreBuilder b;
  constexpr const char* kFloats = "[\"float\", \"float\", \"float\"]";
  for (int step = 0; step < 3; ++step) {
    const int t = 10'000 * step;
    b.Step(step, kMain, t, 10'000);
    b.Op("aten::linear", kMain, t + 500, 4'000)
        .Sequence(2 * step + 1)
        .Shapes("[[32, 1024], [1024, 1024]]", "[\"float\", \"float\"]");
    b.Op("aten::mm", kMain, t + 500, 4'000)
        .Sequence(2 * step + 1)
        .Shapes("[[32, 1024], [1024, 1024]]", "[\"float\", \"float\"]");
    b.Op("aten::relu", kMain, t + 5'000, 2'002)
        .Sequence(2 * step + 2)
        .Shapes("[[32, 32768]]", "[\"float\"]");
    b.Annotation("Optimizer.step#Adam.step", kMain, t + 7'500, 2'100);
    b.Op("aten::addcdiv_", kMain, t + 7'550, 2'002)
        .Shapes("[[1024, 1024], [1024, 1024], [1024, 1024]]", kFloats);
    b.Op("aten::item", kMain, t + 9'700, 100).Shapes("[[]]", "[\"float\"]");
  }
  return b;
}

TEST(CpuJobTest, ThreadsDivideLargeOperators) {
  TestForecasts job(Training());
  EXPECT_DOUBLE_EQ(job.StepUs(), 10'000);
  // Amdahl: 2 us of dispatch per operator stay; 95 % of products and 85 % of others divide.
  const double saved = 3'998 * 0.95 / 2 + 2 * 2'000 * 0.85 / 2;
  EXPECT_NEAR(job.StepUs("threads:from=1,n=2"), 10'000 - saved, 1);
  EXPECT_EQ(job.WhyNot("threads:from=2,n=2"), "already: operators run on 2 threads");
}

TEST(CpuJobTest, ABatchGrowsActivationsOnly) {
  TestForecasts job(Training());
  // The update moves 16 MiB in 2,000 us, so the weights' 4 MiB take 500 us of the product.
  const double rate = 4.0 * 4 * (1 << 20) / 2'000;
  const double weights = 4.0 * (1 << 20) / rate;
  EXPECT_NEAR(job.StepUs("batch-size:n=64"), 10'000 + (3'998 - weights) + 2'000, 10);
  EXPECT_NEAR(job.StepUs("batch-size:n=32"), 10'000, 1e-6);
}

TEST(CpuJobTest, AFusedUpdateMovesItsBytesAtTheRecordedRate) {
  TestForecasts job(Training());
  // Seven operands of 4 MiB instead of four, and the host's work of the range vanishes.
  EXPECT_NEAR(job.StepUs("fused-optimizer"), 10'000 - 2'100 + 7.0 / 4 * 2'000, 1);
  EXPECT_EQ(job.Ask("fused-optimizer:kind=foreach").abstention, Abstention::kNothing);
}

TEST(CpuJobTest, ChangesOfDifferentOperatorsAdd) {
  TestForecasts job(Training());
  const auto gain = [&](const char* change) { return job.StepUs() - job.StepUs(change); };
  const double fused = gain("fused-optimizer"), batch = gain("batch-size:n=64");
  EXPECT_NEAR(gain("fused-optimizer+batch-size:n=64"), fused + batch, 0.1);
  EXPECT_NEAR(gain("fused-optimizer+compile"), fused + gain("compile"), 0.1);
}

TEST(CombinationTest, APartWithNothingToDoChangesNothing) {
  TestForecasts job(WithRange("Callback.on_train_batch_end"));
  EXPECT_EQ(job.Ask("remove-syncs").abstention, Abstention::kNothing);
  const Forecast alone = job.Ask("cuda-graph"), both = job.Ask("remove-syncs+cuda-graph");
  EXPECT_DOUBLE_EQ(both.step_ms.mid, alone.step_ms.mid);
  EXPECT_DOUBLE_EQ(both.step_ms.high, alone.step_ms.high);
  EXPECT_EQ(both.validated, alone.validated);
  EXPECT_EQ(both.is_upper_bound, alone.is_upper_bound);
  EXPECT_NE(both.why.find("remove-syncs changes nothing"), std::string::npos) << both.why;
  EXPECT_FALSE(job.Ask("remove-syncs+network-speed").applies);
}

TEST(CpuJobTest, ChangesOfGpuWorkAbstain) {
  TestForecasts job(OnTheCpu("something else"));
  for (const char* change : {"amp", "gpu-speed", "cuda-graph", "remove-syncs", "data-loading+amp"})
    EXPECT_FALSE(job.Ask(change).applies) << change;
  EXPECT_EQ(job.WhyNot("amp"), kNoGpuWork);
  EXPECT_FALSE(job.job().RequireGpuWork().ok());
}

TEST(HorizontalFusionTest, KernelsOfFewBlocksTakeMoreJobsForNothing) {
  // Two kernels of 101.2 us. 132 blocks of 1024 threads fill half of the GPU (2 blocks per
  // multiprocessor), and 264 fill it.
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200").InNanoseconds();
  for (int step = 0; step < 2; ++step) {
    const int host = 60'000 * step, gpu = 10'000 + 202'400 * step;
    b.Step(step, kMain, host, 60'000);
    b.Launch("aten::mm", kMain, host, kGemm, kStream, gpu, 101'200).Grid(132, 1024);
    b.Launch("aten::mm", kMain, host + 5'000, kGemm, kStream, gpu + 101'200, 101'200)
        .Grid(264, 1024);
  }
  TestForecasts job(b);
  EXPECT_DOUBLE_EQ(job.StepUs(), 202.4);
  // Two jobs: the first kernel's blocks all fit at once. The second kernel takes two waves, and
  // starts once.
  EXPECT_DOUBLE_EQ(job.StepUs("horizontal-fusion:jobs=2"), 202.4 + 100);
  EXPECT_NE(job.Ask("horizontal-fusion:jobs=2").why.find("2 times the work"), std::string::npos);
  TestForecasts unknown(WithRange("x"));
  EXPECT_NE(unknown.WhyNot("horizontal-fusion:jobs=2").find("no grid"), std::string::npos);
}

}  // namespace loop_test
}  // namespace headroom
