#include "kernels/operator_time.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cost/operator_call.h"
#include "kernels/test_devices.h"

namespace headroom {
namespace operator_time_test {

OperatorCost Attention(DType dtype) {
  return {.flops = 1e12, .bytes = 1e8, .family = WorkFamily::kAttention, .math_dtype = dtype};
}

double Ns(const OperatorCost& cost, const char* gpu) {
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  return OperatorOnGpu(work, RatesOfGpu(gpu)).Ns(ShippedConstants()).value_or(-1);
}

TEST(OperatorTime, WhatAGpuHasNoTensorCoresForRunsInFloat32) {
  for (const char* gpu : {"V100", "T4", "P100"})
    EXPECT_EQ(Ns(Attention(DType::kBF16), gpu), Ns(Attention(DType::kF32), gpu)) << gpu;
  EXPECT_LT(Ns(Attention(DType::kF16), "V100"), 0.3 * Ns(Attention(DType::kF32), "V100"));
}

TEST(OperatorTime, Float64GoesByItsPeakAndIsUnknownWithoutOne) {
  // A P100 has 4.7 TFLOP/s in float64. A T4's data sheet does not state its float64 peak.
  EXPECT_GT(Ns(Attention(DType::kF64), "P100"), 1e12 / 4.7e3);
  EXPECT_EQ(Ns(Attention(DType::kF64), "T4"), -1);
}

TEST(OperatorTime, TensorCoresAreToldWhereTheyRun) {
  const OperatorCost cost = Attention(DType::kBF16);
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  EXPECT_TRUE(OperatorOnGpu(work, RatesOfGpu("A100-80")).on_tensor_cores());
  EXPECT_FALSE(OperatorOnGpu(work, RatesOfGpu("V100")).on_tensor_cores());
}

// Strides describe the operands' layout. A linear layer's weight has rows along k, which Pascal
// reads in pieces.
TEST(OperatorTime, StridesOfAWeightReachTheModel) {
  const auto ns = [](const char* weight_strides) {
    const OperatorCall call =
        ParseOperatorCall("aten::addmm",
                          {"[[16384], [1024, 1024], [1024, 16384], [], []]",
                           R"(["float", "float", "float", "Scalar", "Scalar"])",
                           fmt::format("[[1], [1024, 1], {}, [], []]", weight_strides),
                           R"(["", "", "", "1", "1"])"})
            .value();
    const OperatorCost cost = CostOf(call).value();
    const OperatorWork work = {.call = &call, .cost = &cost, .longest = {}};
    return OperatorOnGpu(work, RatesOfGpu("P4")).Ns(ShippedConstants()).value_or(-1);
  };
  EXPECT_GT(ns("[1, 1024]"), 1.5 * ns("[16384, 1]"));
}

/// A forward convolution of cuDNN on 64 images with padding 1, and its cost.
struct Convolution {
  Convolution(std::int64_t in_channels, std::int64_t out_channels, std::int64_t groups,
              std::int64_t dilation, const char* type) {
    call = ParseOperatorCall(
               "aten::cudnn_convolution",
               {fmt::format("[[64, {}, 56, 56], [{}, {}, 3, 3], [], [], [], [], [], [], []]",
                            in_channels, out_channels, in_channels / groups),
                fmt::format(R"(["{0}", "{0}", "ScalarList", "ScalarList", "ScalarList", "Scalar", )"
                            R"("Scalar", "Scalar", "Scalar"])",
                            type),
                "",
                fmt::format(R"(["", "", "[{0}, {0}]", "[1, 1]", "[{0}, {0}]", "{1}", "True", )"
                            R"("False", "True"])",
                            dilation, groups)})
               .value();
    cost = CostOf(call).value();
  }
  double On(const DeviceRates& rates) const {
    const OperatorWork work = {.call = &call, .cost = &cost, .longest = {}};
    return OperatorOnGpu(work, rates).Ns(ShippedConstants()).value_or(-1);
  }
  double On(const char* gpu) const { return On(RatesOfGpu(gpu)); }

  OperatorCall call;
  OperatorCost cost;
};

// A single channel never fills the tile of a product, because each output takes only nine
// multiplications.
TEST(OperatorTime, DepthwiseConvolutionsMoveBytes) {
  for (const char* type : {"float", "c10::Half"}) {
    const Convolution depthwise(256, 256, 256, 1, type);
    for (const char* gpu : {"H200", "A100-80", "V100", "L4"}) {
      const double bytes = depthwise.cost.bytes / RatesOfGpu(gpu).bytes_per_ns;
      EXPECT_GT(depthwise.On(gpu), bytes) << gpu;
      EXPECT_LT(depthwise.On(gpu), 1.5 * bytes + 1e4) << gpu;
    }
  }
}

TEST(OperatorTime, DilatedConvolutionsHaveNoWinograd) {
  const Convolution plain(256, 256, 1, 1, "float"), dilated(256, 256, 1, 2, "float");
  EXPECT_EQ(plain.cost.flops, dilated.cost.flops);
  EXPECT_GT(dilated.On("V100"), 1.3 * plain.On("V100"));
}

// The power limit bounds arithmetic, also on tensor cores, but not memory traffic.
TEST(OperatorTime, PowerBoundsArithmeticAndNotBytes) {
  DeviceRates rates = RatesOfGpu("L4");
  const Convolution wide(256, 256, 1, 1, "c10::Half"), bytes(256, 256, 256, 1, "c10::Half");
  const double wide_before = wide.On(rates), bytes_before = bytes.On(rates);
  rates.sustained_share = rates.clock_share = 1;
  EXPECT_LT(wide.On(rates), 0.7 * wide_before);
  EXPECT_EQ(bytes.On(rates), bytes_before);
}

TEST(OperatorTime, FullPowerIsDrawnAtTheRateThatItAllows) {
  const OperatorCost cost = {
      .flops = 1e12, .family = WorkFamily::kMatmul, .math_dtype = DType::kF32};
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  const DeviceRates t4 = RatesOfGpu("T4"), h200 = RatesOfGpu("H200");
  EXPECT_NEAR(*OperatorOnGpu(work, t4).FullPowerNs(), 1e12 / (8100 * t4.full_power_share), 1);
  EXPECT_NEAR(*OperatorOnGpu(work, h200).FullPowerNs(), 1e12 / 67000, 1) << "it holds its clock";
}

TEST(OperatorTime, TensorCoresAreNeverSlowerThanOtherUnits) {
  for (const char* gpu : {"RTX-4090", "L4", "A10", "H100"}) {
    const Convolution plain(3, 64, 1, 1, "float");
    OperatorCost tf32 = plain.cost;
    tf32.math_dtype = DType::kTF32;
    const OperatorWork work = {.call = &plain.call, .cost = &tf32, .longest = {}};
    EXPECT_LE(OperatorOnGpu(work, RatesOfGpu(gpu)).Ns(ShippedConstants()).value(), plain.On(gpu))
        << gpu;
  }
}

TEST(OperatorTime, WhatOnlyMovedBytesTellsNothingOfWhatComputes) {
  DeviceRates rates = RatesOfGpu("A100-80");
  const LocalCorrection::Sample addition = {.work = {.shape = PointwiseWork{.bytes = 8e8}},
                                            .log_error = 0.5};
  rates.correction = std::make_shared<LocalCorrection>(std::vector{addition}, ShippedConstants());
  OperatorCost cost = Attention(DType::kBF16);
  const OperatorWork work = {.call = nullptr, .cost = &cost, .longest = {}};
  EXPECT_EQ(OperatorOnGpu(work, rates).MeasuredCorrection().evidence, 0);
  cost.flops = 1e6;
  EXPECT_GT(OperatorOnGpu(work, rates).MeasuredCorrection().evidence, 0);
}

}  // namespace operator_time_test
}  // namespace headroom
