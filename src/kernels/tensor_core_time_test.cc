#include "kernels/tensor_core_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace headroom {
namespace tensor_core_time_test {

/// Returns a device with 100 multiprocessors, 100 TFLOP/s in TF32, 200 TFLOP/s in 16 bits, and 1000
/// GB/s.
DeviceSpec RoundDevice() {
  DeviceSpec device;
  device.sm_count = 100;
  device.tf32_tensor_tflops = 100;
  device.fp16_tensor_tflops = device.bf16_tensor_tflops = 200;
  device.memory_bandwidth_gbs = 1000;
  return device;
}

double Us(std::optional<DurationNs> time) { return time ? time->us() : -1; }

TEST(TensorCoreGemmTimeTest, ALargeProductRunsAtTheSustainedRate) {
  // 800 GFLOP in 16 bits at the 82 % of 200 TFLOP/s that power sustains take 4.88 ms.
  const GemmShape shape = {.m = 20480, .n = 12800, .k = 1526};
  EXPECT_NEAR(Us(TensorCoreGemmTime(shape, {}, DType::kF16, RoundDevice())), 4878, 150);
}

TEST(TensorCoreGemmTimeTest, OneTileMoreThanAWaveCostsAWave) {
  const DeviceSpec device = RoundDevice();
  const auto us = [&](std::int64_t m) {
    return Us(TensorCoreGemmTime({.m = m, .n = 12800, .k = 4096}, {}, DType::kF16, device));
  };
  // 100 tiles of 256 x 128, or of 128 x 128 with half the rows.
  EXPECT_GT(us(257) / us(256), 1.3);
  EXPECT_LT(us(250) / us(256), 1.001);
  EXPECT_GT(us(250) / us(256), 0.97);
}

TEST(TensorCoreGemmTimeTest, ShortProductsTakeTheirStart) {
  EXPECT_NEAR(Us(TensorCoreGemmTime({.m = 16, .n = 64, .k = 64}, {}, DType::kF16, RoundDevice())),
              3900 / 1500.0, 2);
}

TEST(TensorCoreGemmTimeTest, EightBitsReadHalfOfTheOperands) {
  DeviceSpec device = RoundDevice();
  EXPECT_FALSE(TensorCoreGemmTime({.m = 1, .n = 12800, .k = 12800}, {}, DType::kF8, device));
  device.fp8_tensor_tflops = 400;
  const GemmShape vector = {.m = 1, .n = 12800, .k = 12800};
  EXPECT_NEAR(Us(TensorCoreGemmTime(vector, {}, DType::kF16, device)) /
                  Us(TensorCoreGemmTime(vector, {}, DType::kF8, device)),
              2, 0.1);
}

TEST(TensorCoreGemmTimeTest, AThinProductRunsAtTheBandwidth) {
  // 1000 M elements of an operand and 250 M results of 2 bytes: 2.5e9 bytes at 80 % of 1000 GB/s.
  const GemmShape shape = {.m = 8, .n = 125'000'000 / 4, .k = 32};
  const double us = Us(TensorCoreGemmTime(shape, {}, DType::kF16, RoundDevice()));
  EXPECT_GT(us, 2500e6 / 800e3);
  EXPECT_LT(us, 1.25 * 2500e6 / 800e3);  // Its many small tiles also read from the L2.
}

TEST(TensorCoreGemmTimeTest, OddRowsAreSlow) {
  const DeviceSpec device = RoundDevice();
  const GemmShape shape = {.m = 4096, .n = 50257, .k = 768};
  const double odd = Us(TensorCoreGemmTime(shape, {.aligned = false}, DType::kF16, device));
  EXPECT_GT(odd, 3 * Us(TensorCoreGemmTime(shape, {}, DType::kF16, device)));
}

TEST(TensorCoreGemmTimeTest, WhatIsNotKnownHasNoTime) {
  EXPECT_FALSE(TensorCoreGemmTime({.m = 8, .n = 8, .k = 8}, {}, DType::kF32, RoundDevice()));
  DeviceSpec unknown;
  EXPECT_FALSE(TensorCoreGemmTime({.m = 8, .n = 8, .k = 8}, {}, DType::kF16, unknown));
  EXPECT_FALSE(TensorCoreGemmTime({.m = 0, .n = 8, .k = 8}, {}, DType::kF16, RoundDevice()));
}

TEST(LayoutOfTest, StridesTellTransposedOperandsAndOddRows) {
  OperatorCall call;
  call.name = "aten::mm";
  const auto tensor = [](std::vector<std::int64_t> dims, std::vector<std::int64_t> strides) {
    OperatorArg arg;
    arg.kind = OperatorArg::Kind::kTensor;
    arg.tensors.push_back(
        {.dims = std::move(dims), .strides = std::move(strides), .dtype = DType::kF32});
    return arg;
  };
  // A weight gradient: [768, 3072]^T in its memory layout, times [3072, 50257].
  call.args = {tensor({768, 3072}, {1, 768}), tensor({3072, 50257}, {50257, 1})};
  const GemmLayout layout = LayoutOf(call, {.m = 768, .n = 50257, .k = 3072}, DType::kF16);
  EXPECT_TRUE(layout.transposed_first);
  EXPECT_TRUE(layout.IsOfWeightGradient());
  EXPECT_FALSE(layout.aligned);
  call.args = {tensor({768, 3072}, {3072, 1}), tensor({3072, 768}, {768, 1})};
  const GemmLayout plain = LayoutOf(call, {.m = 768, .n = 768, .k = 3072}, DType::kF16);
  EXPECT_FALSE(plain.transposed_first);
  EXPECT_FALSE(plain.transposed_second);
  EXPECT_TRUE(plain.aligned);
  // A linear layer: its weight of [768, 3072] as the second operand.
  call.args = {tensor({512, 3072}, {3072, 1}), tensor({3072, 768}, {1, 3072})};
  const GemmLayout layer = LayoutOf(call, {.m = 512, .n = 768, .k = 3072}, DType::kF32);
  EXPECT_FALSE(layer.transposed_first);
  EXPECT_TRUE(layer.transposed_second);
  call.args = {tensor({512, 3072}, {1, 512}), tensor({3072, 768}, {1, 3072})};
  const GemmLayout both = LayoutOf(call, {.m = 512, .n = 768, .k = 3072}, DType::kF32);
  EXPECT_TRUE(both.transposed_first);
  EXPECT_TRUE(both.transposed_second);
  EXPECT_FALSE(both.IsOfWeightGradient());
}

TEST(TensorCoreGemmTimeTest, CardsThatHalveTheRateComeCloserToIt) {
  const GemmShape shape = {.m = 8192, .n = 8192, .k = 8192};
  const auto share_of_peak = [&](double int8_tops) {
    DeviceSpec device = RoundDevice();
    device.vendor = "NVIDIA";
    device.int8_tensor_tops = int8_tops;
    const double at_peak = 2 * std::pow(8192.0, 3) / (*device.fp16_tensor_tflops * 1e6);
    return at_peak / Us(TensorCoreGemmTime(shape, {}, DType::kF16, device));
  };
  EXPECT_EQ(share_of_peak(400), share_of_peak(200)) << "twice the rate of 16 bits, or the same";
  EXPECT_GT(share_of_peak(800), 1.1 * share_of_peak(400));
  EXPECT_LT(share_of_peak(800), 1);
}

/// Returns a convolution of 64 x 256 x 56 x 56 with a 3 x 3 kernel and 256 output channels.
ConvolutionShape Square() {
  ConvolutionShape shape;
  shape.batch = 64;
  shape.in_channels = shape.out_channels = 256;
  shape.in = shape.out = {56, 56};
  shape.kernel = {3, 3};
  return shape;
}

TEST(TensorCoreConvolutionTimeTest, AProductAndTwoReorderings) {
  // 236.8 GFLOP at 75 % of 200 TFLOP/s and nearly whole waves take a little over 1579 us.
  // Activations of 51.4 M elements each are read and written once more: 411 MB at 57 % of 1000 GB/s
  // take 721 us.
  const double time = Us(TensorCoreConvolutionTime(Square(), DType::kF16, RoundDevice()));
  EXPECT_GT(time, 1579 + 721);
  EXPECT_LT(time, 1.1 * (1579 + 721));
}

TEST(TensorCoreConvolutionTimeTest, TheWeightGradientIsTheSlowerOne) {
  ConvolutionShape backward = Square();
  backward.data_gradient = backward.weight_gradient = true;
  const double ratio = Us(TensorCoreConvolutionTime(backward, DType::kF16, RoundDevice())) /
                       Us(TensorCoreConvolutionTime(Square(), DType::kF16, RoundDevice()));
  // At 55 % of the peak, the FLOPs of the weight gradient take 2153 us.
  EXPECT_NEAR(ratio, 1 + (2153.0 + 721) / (1579 + 721), 0.1);
}

TEST(TensorCoreConvolutionTimeTest, APointwiseConvolutionWastesTilesASample) {
  // 64 samples of 14 x 14 take two tiles of 128 each, of which 77 % is useful. 16 samples of 28 x
  // 28 have the same outputs, with 7 tiles of 128 for 784.
  ConvolutionShape small = Square(), large = Square();
  small.kernel = large.kernel = {1, 1};
  small.in_channels = small.out_channels = large.in_channels = large.out_channels = 8192;
  small.in = small.out = {14, 14};
  large.in = large.out = {28, 28};
  large.batch = 16;
  const double ratio = Us(TensorCoreConvolutionTime(small, DType::kTF32, RoundDevice())) /
                       Us(TensorCoreConvolutionTime(large, DType::kTF32, RoundDevice()));
  EXPECT_NEAR(ratio, (784.0 / 832) / (196.0 / 256), 0.02);
}

TEST(TensorCoreConvolutionTimeTest, APointwiseConvolutionIsNotReordered) {
  ConvolutionShape shape = Square();
  shape.kernel = {1, 1};
  // Memory: 102.8 M elements of 2 bytes at 70 % of 1000 GB/s take 294 us, without reordering.
  EXPECT_LT(Us(TensorCoreConvolutionTime(shape, DType::kF16, RoundDevice())), 1.25 * 294);
}

RC_GTEST_PROP(TensorCoreGemmTimeProperty, NeverBeatsTheDataSheet, ()) {
  const GemmShape shape = {.batch = *rc::gen::inRange<std::int64_t>(1, 50),
                           .m = *rc::gen::inRange<std::int64_t>(1, 5000),
                           .n = *rc::gen::inRange<std::int64_t>(1, 5000),
                           .k = *rc::gen::inRange<std::int64_t>(1, 5000)};
  const DType dtype = *rc::gen::element(DType::kTF32, DType::kF16, DType::kBF16);
  const auto time =
      TensorCoreGemmTime(shape, {.aligned = *rc::gen::arbitrary<bool>()}, dtype, RoundDevice());
  RC_ASSERT(time.has_value());
  const double flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k);
  RC_ASSERT(time->us() * 1e-6 * (dtype == DType::kTF32 ? 100e12 : 200e12) >= flops);
}

}  // namespace tensor_core_time_test
}  // namespace headroom
