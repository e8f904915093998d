// cuda-graph: the whole step, or passes through a region.
#include <gtest/gtest.h>

#include "whatif/test_forecast.h"

namespace headroom {
namespace cuda_graph_test {

/// Two steps of 500 us on the host: 300 us in a range with three operators, then one operator. Each
/// launches a kernel of 10 us, in a call of 1 us.
StoreBuilder WithBlock(bool waits = false) {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int host = 500 * step;
    b.Step(step, kMain, host, 500);
    b.Annotation("block", kMain, host, 300);
    for (int i = 0; i < 3; ++i)
      b.Launch("aten::mm", kMain, host + 100 * i, kGemm, kStream, host + 10 + 100 * i, 10);
    if (waits) b.Call("cudaDeviceSynchronize", kMain, host + 250, 30);
    b.Launch("aten::mm", kMain, host + 400, kGemm, kStream, host + 410, 10);
  }
  return b;
}

TEST(CudaGraphTest, ARegionIsLaunchedWithItsFirstCall) {
  TestForecasts job(WithBlock());
  EXPECT_DOUBLE_EQ(job.StepUs(), 500);
  // The 200 us outside the range remain. The call that launches the graph takes 1 us.
  EXPECT_DOUBLE_EQ(job.StepUs("cuda-graph:region=^block$"), 200 + 1);
  const Forecast forecast = job.Ask("cuda-graph:region=^block$");
  EXPECT_NE(forecast.why.find("graphs, 1 per step, replace 75 % of the step's launches"),
            std::string::npos)
      << forecast.why;
  EXPECT_EQ(forecast.validated, Validity::kNo);
}

/// Three steps of 1 ms. In each, the loop waits 600 us for its loader and launches two kernels, in
/// a range of 900 us.
StoreBuilder WithLoader() {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int host = 1000 * step;
    b.Step(step, kMain, host, 1000);
    b.Annotation("block", kMain, host, 900);
    b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, host, 600);
    b.Launch("aten::mm", kMain, host + 700, kGemm, kStream, host + 710, 10);
    b.Launch("aten::mm", kMain, host + 800, kGemm, kStream, host + 810, 10);
  }
  return b;
}

TEST(CudaGraphTest, TheLoaderStays) {
  TestForecasts job(WithLoader());
  const double step_us = job.StepUs("cuda-graph");
  EXPECT_GE(step_us, 600);
  EXPECT_LE(step_us, 620);
  EXPECT_LE(job.StepUs("data-loading+cuda-graph"), 120);
}

TEST(CudaGraphTest, TheLoaderOfARegionStays) {
  TestForecasts job(WithLoader());
  const double step_us = job.StepUs("cuda-graph:region=^block$");
  EXPECT_GE(step_us, 700) << "and 100 us after the region";
  EXPECT_LE(step_us, 720);
}

TEST(CudaGraphTest, NothingOfARegionBeginsBeforeItsLaunch) {
  // A range has two kernels after 400 us of host work. The second runs 300 us on a separate stream,
  // and the host waits for it. Both steps take 740 us.
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int host = 740 * step;
    b.Step(step, kMain, host, 740);
    b.Annotation("block", kMain, host + 400, 30);
    b.Launch("aten::mm", kMain, host + 400, kGemm, kStream, host + 410, 10);
    b.Launch("aten::mm", kMain, host + 415, kGemm, kStream + 1, host + 425, 300);
    b.Call("cudaDeviceSynchronize", kMain, host + 440, 290);
  }
  TestForecasts job(b);
  EXPECT_NEAR(job.StepUs(), 740, 10);
  const double step_us = job.StepUs("cuda-graph:region=block");
  EXPECT_GT(step_us, 400 + 300);
  EXPECT_LT(step_us, job.StepUs());
}

TEST(CudaGraphTest, ThereIsOneRegion) {
  EXPECT_FALSE(ParseScenario("cuda-graph:region=a+cuda-graph:region=b").ok());
  EXPECT_FALSE(ParseScenario("cuda-graph+cuda-graph").ok());
  EXPECT_TRUE(ParseScenario("cuda-graph:region=a|b").ok());
}

TEST(CudaGraphTest, AWholeStepNeedsNoHost) {
  TestForecasts job(WithBlock());
  // Four kernels of 10 us.
  EXPECT_LT(job.StepUs("cuda-graph"), 50);
  EXPECT_DOUBLE_EQ(job.StepUs("cuda-graph"), job.StepUs("cuda-graph:region=.*"));
}

TEST(CudaGraphTest, WhereNothingMarksTheStepsStartUpMayBeAllOfIt) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 400, kGemm, kStream, 410, 10);
  b.Launch("aten::add", kMain, 450, kGemm, kStream, 460, 10);
  TestForecasts job(b);
  const Forecast forecast = job.Ask("cuda-graph");
  ASSERT_TRUE(forecast.applies);
  EXPECT_LT(forecast.step_ms.mid, job.StepUs() / 1e3);
  EXPECT_GE(forecast.step_ms.high, job.StepUs() / 1e3);
  EXPECT_TRUE(forecast.at_best);
  EXPECT_EQ(forecast.validated, Validity::kNo);
  EXPECT_NE(forecast.why.find("start-up"), std::string::npos) << forecast.why;
}

TEST(CudaGraphTest, ARegionThatWaitsOrIsNotThereAbstains) {
  TestForecasts job(WithBlock());
  EXPECT_NE(job.WhyNot("cuda-graph:region=nowhere").find("matches nowhere"), std::string::npos);
  TestForecasts waiting(WithBlock(true));
  EXPECT_NE(waiting.WhyNot("cuda-graph:region=block").find("waits for the GPU (a copy"),
            std::string::npos);
  EXPECT_TRUE(waiting.Ask("cuda-graph:region=^aten::mm$").applies);
}

}  // namespace cuda_graph_test
}  // namespace headroom
