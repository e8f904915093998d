#include "predict/operator_time.h"

#include <gtest/gtest.h>

#include "predict/test_devices.h"

namespace headroom {
namespace operator_time_test {

OperatorCost Attention(DType dtype) {
  return {.flops = 1e12, .bytes = 1e8, .family = WorkFamily::kAttention, .math_dtype = dtype};
}

double Ns(const OperatorCost& cost, const char* gpu) {
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  return OperatorNs(work, RatesOfGpu(gpu), ShippedConstants()).value_or(-1);
}

TEST(OperatorTime, WhatAGpuHasNoTensorCoresForRunsInFloat32) {
  for (const char* gpu : {"V100", "T4", "P100"})
    EXPECT_EQ(Ns(Attention(DType::kBF16), gpu), Ns(Attention(DType::kF32), gpu)) << gpu;
  EXPECT_LT(Ns(Attention(DType::kF16), "V100"), 0.3 * Ns(Attention(DType::kF32), "V100"));
}

TEST(OperatorTime, Float64GoesByItsPeakAndIsUnknownWithoutOne) {
  // 4.7 TFLOP/s on a P100; a T4's data sheet does not say.
  EXPECT_GT(Ns(Attention(DType::kF64), "P100"), 1e12 / 4.7e3);
  EXPECT_EQ(Ns(Attention(DType::kF64), "T4"), -1);
}

TEST(OperatorTime, TensorCoresAreToldWhereTheyRun) {
  const OperatorCost cost = Attention(DType::kBF16);
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  EXPECT_TRUE(RunsOnTensorCores(work, RatesOfGpu("A100-80")));
  EXPECT_FALSE(RunsOnTensorCores(work, RatesOfGpu("V100")));
}

}  // namespace operator_time_test
}  // namespace headroom
