#include <gtest/gtest.h>

#include "whatif/test_forecast.h"
#include "whatif/test_layers.h"

namespace headroom {
namespace gradient_accumulation_test {

// An addition moves 3 x 400,000 bytes at 0.67 x 4.8 TB/s, plus its start. It runs between the
// kernels of the backward, with a gap of 1.5 us on the stream, or at its end.
constexpr double kAdditions = 2 * (1.2 + 0.373 + 1.5);

TEST(GradientAccumulationTest, OneUpdateForAllMicroBatches) {
  TestForecasts job(TwoLayers());
  ASSERT_DOUBLE_EQ(job.StepUs(), 500);
  EXPECT_DOUBLE_EQ(job.StepUs("gradient-accumulation:n=1"), 500);
  // The update takes 100 us, and only the last micro-batch has it.
  EXPECT_NEAR(job.StepUs("gradient-accumulation:n=2"), 500 + 400 + kAdditions, 0.1);
  EXPECT_NEAR(job.StepUs("gradient-accumulation:n=10"), 500 + 9 * (400 + kAdditions), 0.5);
  const Forecast forecast = job.Ask("gradient-accumulation:n=2");
  EXPECT_NE(forecast.why.find("2 times the work"), std::string::npos) << forecast.why;
  EXPECT_NEAR(forecast.limits.gpu_ms * 1e3, forecast.step_ms.mid * 1e3, 5);
}

TEST(GradientAccumulationTest, ExchangesOncePerUpdate) {
  TestForecasts job(TwoLayers());
  const std::string exchange =
      "data-parallel:gpus=2,bandwidth-gbps=84.972375690607735,latency-us=1";
  const double alone = job.StepUs(exchange), once = job.StepUs("gradient-accumulation:n=2");
  // The reducer's copies remain, at most 4 of 3 us.
  const double both = job.StepUs("gradient-accumulation:n=2+" + exchange);
  EXPECT_GE(both, alone + once - 500 - 1);
  EXPECT_LE(both, alone + once - 500 + 12);
}

TEST(GradientAccumulationTest, RecordedAllReducesAreThoseOfTheLastMicroBatch) {
  StoreBuilder b = TwoLayers();
  for (int step = 0; step < 2; ++step) {
    b.Op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", kAutograd,
         60 * step + 25, 10);
    b.Launch("nccl:all_reduce", kAutograd, 60 * step + 26, kAllReduce, kSideStream,
             410 + 500 * step, 50);
  }
  TestForecasts job(b);
  const Forecast forecast = job.Ask("gradient-accumulation:n=2");
  ASSERT_TRUE(forecast.applies) << forecast.why;
  EXPECT_NE(forecast.why.find("no_sync"), std::string::npos) << forecast.why;
}

TEST(GradientAccumulationTest, AJobThatAccumulatesAlreadyAbstains) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 4; ++step) {
    b.Step(step, kMain, 40 * step, 40);
    b.Op(kNode, kMain, 40 * step + 1, 8).Sequence(step);
    b.Launch("aten::mm", kMain, 40 * step + 2, kGemm, kStream, 10 + 200 * step, 100);
    if (step % 2 == 0) continue;
    b.Annotation("Optimizer.step#SGD.step", kMain, 40 * step + 20, 10);
    b.Launch("aten::add_", kMain, 40 * step + 21, kAdd, kStream, 110 + 200 * step, 50);
  }
  TestForecasts job(b);
  EXPECT_NE(job.WhyNot("gradient-accumulation:n=2").find("already accumulates"), std::string::npos);
}

TEST(GradientAccumulationTest, AnInferenceAbstains) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 40 * step, 40);
    b.Launch("aten::mm", kMain, 40 * step + 2, kGemm, kStream, 10 + 200 * step, 100);
  }
  TestForecasts job(b);
  EXPECT_NE(job.WhyNot("gradient-accumulation:n=2").find("no backward"), std::string::npos);
}

}  // namespace gradient_accumulation_test
}  // namespace headroom
