#include "predict/job_prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "kernels/test_devices.h"
#include "whatif/forecast.h"
#include "whatif/test_job.h"

namespace headroom {
namespace job_prediction_test {

constexpr const char* kSgemm = "ampere_sgemm_128x128_nn";

/// Returns products of 2 x 4096^3 operations that take `us` microseconds each on an H200.
JobBuilder Products(std::int64_t us, std::string_view dims = "[[4096, 4096], [4096, 4096]]") {
  JobBuilder job;
  for (int step = 0; step < 3; ++step) {
    job.Step();
    for (int i = 0; i < 4; ++i) job.Forward("aten::mm", dims, us, 10 * step + i, kSgemm);
  }
  return job;
}

TEST(JobPrediction, TheGpuOfTheTraceTakesWhatItTook) {
  JobBuilder builder = Products(2500);
  const Job& job = builder.Build();
  const DeviceRates h200 = RatesOfGpu("H200");
  const JobPrediction prediction = JobPredictor(job, h200, ShippedConstants()).Predict(h200, 1);
  EXPECT_NEAR(prediction.step.mid, Forecaster(job).baseline().corrected.mid, 0.01);
}

TEST(JobPrediction, AGpuBoundStepFollowsTheModelOfItsKernels) {
  JobBuilder builder = Products(2500);
  const Job& job = builder.Build();
  const DeviceRates h200 = RatesOfGpu("H200"), v100 = RatesOfGpu("V100");
  const JobPrediction prediction = JobPredictor(job, h200, ShippedConstants()).Predict(v100, 1);
  // 137 GFLOP per product at 14 TFLOP/s.
  EXPECT_GT(prediction.step.mid, 4 * 9.8);
  EXPECT_LT(prediction.step.mid, 4 * 12);
  EXPECT_LT(prediction.step.low, prediction.step.mid);
  EXPECT_GT(prediction.step.high, prediction.step.mid);
  EXPECT_NE(prediction.why.find("the GPU takes"), std::string::npos);
}

TEST(JobPrediction, WhereTheHostIsTheLimitAFasterGpuBuysNothingAndAFasterHostDoes) {
  JobBuilder builder = Products(2, "[[64, 64], [64, 64]]");
  const Job& job = builder.Build();
  const DeviceRates h200 = RatesOfGpu("H200"), b200 = RatesOfGpu("B200");
  JobPredictor predictor(job, h200, ShippedConstants());
  const double as_it_is = Forecaster(job).baseline().corrected.mid;
  const JobPrediction faster = predictor.Predict(b200, 1);
  EXPECT_NEAR(faster.step.mid, as_it_is, 0.03 * as_it_is);
  EXPECT_NE(faster.why.find("host-bound: the host takes"), std::string::npos);
  EXPECT_LT(predictor.Predict(h200, 2).step.mid, 0.7 * as_it_is);
}

TEST(JobPrediction, KernelsWithoutShapesGoByRatiosAndThatIsTold) {
  JobBuilder builder = Products(2500, "");
  const Job& job = builder.Build();
  const DeviceRates h200 = RatesOfGpu("H200"), v100 = RatesOfGpu("V100");
  JobPredictor predictor(job, h200, ShippedConstants());
  EXPECT_NEAR(predictor.Predict(v100, 1).gpu_ms / 10, h200.bytes_per_ns / v100.bytes_per_ns, 0.2);
  EXPECT_EQ(predictor.ratio_only_share(), 1);
}

/// Returns 3 x 3 convolutions that take 8.6 ms each on an H200: 4.5 times the fastest algorithm's
/// time.
JobBuilder Convolutions(std::string_view benchmark) {
  JobBuilder job;
  const std::string concrete = R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", ")" +
                               std::string(benchmark) + R"(", "False", "False"])";
  for (int step = 0; step < 3; ++step) {
    job.Step();
    for (int i = 0; i < 4; ++i) {
      job.Forward("aten::cudnn_convolution",
                  "[[64, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []]",
                  10 * step + i, {{"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32", 8600}}, concrete);
    }
  }
  return job;
}

TEST(JobPrediction, AnAlgorithmThatWasChosenUntriedMayBeTakenElsewhereOrNot) {
  const DeviceRates h200 = RatesOfGpu("H200"), a100 = RatesOfGpu("A100-80");
  JobBuilder tried = Convolutions("True"), untried = Convolutions("False");
  const Job& tried_job = tried.Build();
  const Job& untried_job = untried.Build();
  JobPredictor predictor(untried_job, h200, ShippedConstants());
  const JobPrediction narrow = JobPredictor(tried_job, h200, ShippedConstants()).Predict(a100, 1);
  const JobPrediction wide = predictor.Predict(a100, 1);
  EXPECT_EQ(narrow.step.mid, wide.step.mid);
  EXPECT_LT(wide.step.low, 0.6 * narrow.step.low) << "the fastest";
  EXPECT_GT(wide.step.high, 1.6 * narrow.step.high) << "the same";
  EXPECT_EQ(narrow.doubt, "");
  EXPECT_NE(wide.doubt.find("the algorithms of convolutions, 100 % of"), std::string::npos);
  EXPECT_EQ(predictor.Predict(RatesOfGpu("H100"), 1).doubt, "")
      << "the same library makes the same choice";
  // In all measurements on Hopper, the library chose algorithms without benchmarking.
  const DeviceRates v100 = RatesOfGpu("V100");
  const JobPrediction hopper = JobPredictor(tried_job, v100, ShippedConstants()).Predict(h200, 1);
  EXPECT_NE(hopper.doubt.find("the algorithms of convolutions"), std::string::npos);
  const double most = std::exp(ShippedConstants().untried_convolution.high);
  EXPECT_NEAR(hopper.step.high, most * hopper.step.mid, 0.01 * hopper.step.high);
  // Two doubts about the same time do not add up.
  const JobPrediction both =
      JobPredictor(untried_job, h200, ShippedConstants()).Predict(RatesOfGpu("MI300X"), 1);
  EXPECT_LT(both.step.high, 1.5 * most * both.step.mid);
}

TEST(WaveScaling, ClockWithinAWaveAndBandwidthBeyond) {
  const DeviceRates v100 = RatesOfGpu("V100"), a100 = RatesOfGpu("A100-80");
  EXPECT_NEAR(WaveScaling({.blocks = 10, .threads = 256}, v100, a100), 1380.0 / 1410, 1e-9);
  EXPECT_NEAR(WaveScaling({.blocks = 1e6, .threads = 256}, v100, a100),
              v100.bytes_per_ns / a100.bytes_per_ns, 1e-9);
  // The registers of a block fill a multiprocessor, so a wave is smaller.
  EXPECT_NEAR(WaveScaling({.blocks = 200, .threads = 256, .registers = 256}, v100, a100),
              v100.bytes_per_ns / a100.bytes_per_ns, 1e-9);
}

}  // namespace job_prediction_test
}  // namespace headroom
