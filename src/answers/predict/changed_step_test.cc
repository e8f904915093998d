#include "answers/predict/changed_step.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kernels/tensor_core_gemm.h"
#include "kernels/test_devices.h"
#include "predict/job_prediction.h"
#include "whatif/forecast.h"
#include "whatif/test_job.h"

namespace headroom {
namespace changed_step_test {

/// Returns steps of four products of 2 x 4096^3 operations that take 2.5 ms each on an H200.
JobBuilder LargeProducts() {
  JobBuilder job;
  for (int step = 0; step < 3; ++step) {
    job.Step();
    for (int i = 0; i < 4; ++i) {
      job.Forward("aten::mm", "[[4096, 4096], [4096, 4096]]", 2500, 10 * step + i,
                  "ampere_sgemm_128x128_nn");
    }
  }
  return job;
}

std::vector<ScenarioCall> Change(std::string_view text) {
  Result<std::vector<ScenarioCall>> calls = ParsePredictedChange(text);
  EXPECT_TRUE(calls.ok()) << calls.status().message();
  return std::move(calls).value();
}

ChangedStep StepOn(std::string_view gpu, std::string_view change, PredictedMs* unchanged) {
  JobBuilder builder = LargeProducts();
  const Job& job = builder.Build();
  const DeviceRates h200 = RatesOfGpu("H200"), there = RatesOfGpu(gpu);
  JobPredictor predictor(job, h200, ShippedConstants());
  *unchanged = predictor.Predict(there, 1).step;
  return StepAfter(Change(change), *predictor.JobOn(there, 1), *unchanged);
}

TEST(ChangedStep, IsWhatIfsForecastOnTheRecordedGpu) {
  JobBuilder builder = LargeProducts();
  const Job& job = builder.Build();
  Forecaster forecaster(job);
  const Forecast whatif = forecaster.Run("tf32", Change("tf32"));
  const StepInterval& recorded = forecaster.baseline().corrected;
  const ChangedStep changed =
      StepAfter(Change("tf32"), job, {recorded.low, recorded.mid, recorded.high});
  EXPECT_DOUBLE_EQ(changed.step.mid, whatif.step_ms.mid);
  EXPECT_NEAR(changed.step.low, whatif.step_ms.low, 1e-6);
  EXPECT_NEAR(changed.step.high, whatif.step_ms.high, 1e-6);
  EXPECT_EQ(changed.why, whatif.why);
}

TEST(ChangedStep, BeginsWithTheTimesOfTheOtherGpu) {
  PredictedMs unchanged;
  const ChangedStep faster = StepOn("V100", "gpu-speed:factor=2", &unchanged);
  EXPECT_NEAR(faster.step.mid, unchanged.mid / 2, 0.02 * unchanged.mid);
  // The doubt about the unchanged step on that GPU stays.
  EXPECT_GE(faster.step.high / faster.step.mid, 0.99 * unchanged.high / unchanged.mid);
  EXPECT_LE(faster.step.low / faster.step.mid, 1.01 * unchanged.low / unchanged.mid);
}

TEST(ChangedStep, UsesTheTensorCoresOfTheOtherGpu) {
  PredictedMs unchanged;
  const ChangedStep there = StepOn("A100-SXM-80", "tf32", &unchanged);
  const DeviceRates a100 = RatesOfGpu("A100-SXM-80");
  const double product = TensorCoreGemmTime({.batch = 1, .m = 4096, .n = 4096, .k = 4096}, {},
                                            DType::kTF32, *a100.device)
                             ->ms();
  ASSERT_TRUE(there.applies) << there.why;
  EXPECT_NEAR(there.step.mid, 4 * product, 0.05 * 4 * product);
  EXPECT_LT(there.step.mid, unchanged.mid / 4);
}

TEST(ChangedStep, SaysWhatTheOtherGpuLacks) {
  PredictedMs unchanged;
  const ChangedStep there = StepOn("V100", "tf32", &unchanged);
  EXPECT_FALSE(there.applies);
  EXPECT_NE(there.why.find("no TF32"), std::string::npos) << there.why;
}

TEST(ParsePredictedChange, RefusesOtherNumbersOfGpusAndJobs) {
  const auto words = [](std::string_view text) {
    return ParsePredictedChange(text).status().message();
  };
  EXPECT_NE(words("amp+data-parallel:gpus=8").find("headroom scale"), std::string::npos);
  EXPECT_NE(words("horizontal-fusion:jobs=2").find("headroom whatif"), std::string::npos);
  EXPECT_NE(words("ampp").find("amp"), std::string::npos);
}

}  // namespace changed_step_test
}  // namespace headroom
