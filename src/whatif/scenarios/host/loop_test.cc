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

TEST(CpuJobTest, TheHostsWorkIsForecast) {
  TestForecasts loading(OnTheCpu("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"));
  EXPECT_FALSE(loading.job().HasGpuWork());
  EXPECT_DOUBLE_EQ(loading.StepUs(), 500);
  EXPECT_DOUBLE_EQ(loading.StepUs("data-loading"), 200);
  EXPECT_DOUBLE_EQ(loading.StepUs("host-speed:factor=2"), 250);
  EXPECT_DOUBLE_EQ(loading.StepUs("host-speed:factor=1"), 500);
  EXPECT_DOUBLE_EQ(loading.StepUs("data-loading+host-speed:factor=2"), 100);
  TestForecasts callbacks(OnTheCpu("Callback.on_train_batch_end"));
  EXPECT_DOUBLE_EQ(callbacks.StepUs("callbacks:every=10"), 230);
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
