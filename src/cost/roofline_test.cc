#include "cost/roofline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace headroom {
namespace roofline_test {

/// A device with 10 TFLOP/s vector, 100 TFLOP/s TF32, 200 TFLOP/s 16 bit, 1000 GB/s, 10 MB of
/// cache.
DeviceSpec RoundDevice() {
  DeviceSpec device;
  device.name = "Round";
  device.fp32_tflops = 10;
  device.tf32_tensor_tflops = 100;
  device.bf16_tensor_tflops = 200;
  device.memory_bandwidth_gbs = 1000;
  device.l2_bytes = 10e6;
  return device;
}

TEST(Roofline, PlacesComputeBoundWork) {
  const DeviceSpec device = RoundDevice();
  // 1 TFLOP at 100 TFLOP/s: 10 ms; 1 GB at 1000 GB/s: 1 ms.
  const RooflinePoint point = PlaceOnRoofline({.flops = 1e12,
                                               .bytes = 1e9,
                                               .time = DurationNs(20'000'000),
                                               .math_dtype = DType::kTF32,
                                               .tensor_cores = TensorCoreUse::kYes},
                                              &device);
  EXPECT_EQ(point.bound, Bound::kCompute);
  EXPECT_EQ(point.state, RooflineState::kOk);
  EXPECT_DOUBLE_EQ(*point.attainable_us, 10'000);
  EXPECT_DOUBLE_EQ(*point.peak_flops_pct, 50);
}

TEST(Roofline, PlacesMovesWithoutFlopsAsMemoryBound) {
  const DeviceSpec device = RoundDevice();
  const RooflinePoint point = PlaceOnRoofline(
      {.flops = 0, .bytes = 1e9, .time = DurationNs(2'000'000), .math_dtype = DType::kUnknown},
      &device);
  EXPECT_EQ(point.bound, Bound::kMemory);
  EXPECT_EQ(point.state, RooflineState::kOk);
  EXPECT_DOUBLE_EQ(*point.attainable_us, 1000);
}

TEST(Roofline, ReportsMoreThanThePeakAsImpossible) {
  const DeviceSpec device = RoundDevice();
  const RooflinePoint point = PlaceOnRoofline(
      {.flops = 1e12, .bytes = 1e6, .time = DurationNs(9'000'000), .math_dtype = DType::kTF32},
      &device);
  EXPECT_EQ(point.state, RooflineState::kImpossible);
  EXPECT_GT(*point.peak_flops_pct, 100) << "not clamped";
}

TEST(Roofline, AllowsWhatTheCacheCanHoldAboveTheBandwidth) {
  const DeviceSpec device = RoundDevice();
  const auto place = [&](double bytes) {
    return PlaceOnRoofline(
        {.flops = 0, .bytes = bytes, .time = DurationNs(5'000), .math_dtype = DType::kF32},
        &device);
  };
  // 1000 GB/s deliver 5 MB in 5 us. The cache may contain 10 MB more.
  EXPECT_EQ(place(15e6).state, RooflineState::kOk);
  EXPECT_EQ(place(16e6).state, RooflineState::kImpossible);
}

TEST(Roofline, AllowsAnyTrafficWhereTheCacheIsUnknown) {
  DeviceSpec device = RoundDevice();
  const auto state = [&] {
    return PlaceOnRoofline({.flops = 0, .bytes = 1e9, .time = DurationNs(5'000)}, &device).state;
  };
  EXPECT_EQ(state(), RooflineState::kImpossible);
  device.l2_bytes.reset();
  EXPECT_EQ(state(), RooflineState::kOk);
  device.l3_bytes = 10e6;
  EXPECT_EQ(state(), RooflineState::kImpossible) << "the larger cache counts";
}

TEST(Roofline, SaysNothingOfBytesOfAnAssumedType) {
  const DeviceSpec device = RoundDevice();
  const RooflinePoint point = PlaceOnRoofline({.flops = 1e9,
                                               .bytes = 1e9,
                                               .time = DurationNs(5'000),
                                               .math_dtype = DType::kF32,
                                               .assumed_dtype = true},
                                              &device);
  EXPECT_EQ(point.state, RooflineState::kUnknown);
  EXPECT_EQ(point.bound, Bound::kUnknown);
  EXPECT_FALSE(point.attainable_us.has_value());
  EXPECT_FALSE(point.peak_flops_pct.has_value());
}

TEST(Roofline, IsUnknownWithoutADeviceAPeakOrATime) {
  const DeviceSpec device = RoundDevice();
  const RooflinePoint no_device = PlaceOnRoofline(
      {.flops = 1e9, .bytes = 1e6, .time = DurationNs(1000), .math_dtype = DType::kBF16}, nullptr);
  EXPECT_EQ(no_device.state, RooflineState::kUnknown);
  EXPECT_EQ(no_device.bound, Bound::kUnknown);
  const RooflinePoint no_peak = PlaceOnRoofline(
      {.flops = 1e9, .bytes = 1e6, .time = DurationNs(10'000'000), .math_dtype = DType::kF8},
      &device);
  EXPECT_EQ(no_peak.state, RooflineState::kUnknown);
  EXPECT_EQ(no_peak.bound, Bound::kUnknown);
  EXPECT_FALSE(no_peak.peak_flops_pct.has_value());
  const RooflinePoint no_time = PlaceOnRoofline(
      {.flops = 1e9, .bytes = 1e6, .time = DurationNs(0), .math_dtype = DType::kBF16}, &device);
  EXPECT_EQ(no_time.state, RooflineState::kUnknown);
  EXPECT_TRUE(no_time.attainable_us.has_value());
}

// With the FLOPs of direct convolutions, cuDNN's FFT convolutions of VGG-19 ran at twice the
// float32 peak of an H200.
TEST(Roofline, GivesNoShareForAlgorithmsThatSkipOperations) {
  const DeviceSpec device = RoundDevice();
  const RooflinePoint point = PlaceOnRoofline({.flops = 1e12,
                                               .bytes = 1e6,
                                               .time = DurationNs(50'000'000),
                                               .math_dtype = DType::kF32,
                                               .tensor_cores = TensorCoreUse::kNo,
                                               .fast_algorithm = true},
                                              &device);
  EXPECT_EQ(point.state, RooflineState::kUnknown);
  EXPECT_EQ(point.bound, Bound::kUnknown);
  EXPECT_FALSE(point.peak_flops_pct.has_value());
  EXPECT_FALSE(point.attainable_us.has_value());
}

TEST(PeakFlops, FollowsTheUnitsThatRan) {
  DeviceSpec device = RoundDevice();
  const auto peak = [&](DType dtype, TensorCoreUse use) {
    return PeakFlopsPerSecond(device, dtype, use);
  };
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kNo), 10e12);
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kUnknown), 10e12);
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kYes), 100e12)
      << "tensor cores of NVIDIA accept float32 as TF32 only";
  EXPECT_EQ(peak(DType::kTF32, TensorCoreUse::kUnknown), 100e12);
  EXPECT_EQ(peak(DType::kF16, TensorCoreUse::kYes), std::nullopt);
  EXPECT_EQ(peak(DType::kI64, TensorCoreUse::kNo), std::nullopt);
  device.fp32_matrix_tflops = 20;
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kYes), 20e12) << "AMD: matrix cores in full float32";
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kUnknown), 20e12)
      << "the larger, so that no share is overstated";
  EXPECT_EQ(peak(DType::kF32, TensorCoreUse::kNo), 10e12);
}

TEST(MathDType, ComesFromTheKernelWhereItKnowsBetter) {
  EXPECT_EQ(ResolveMathDType(DType::kF32, {.math_dtype = DType::kTF32}), DType::kTF32);
  EXPECT_EQ(ResolveMathDType(DType::kF32, {.math_dtype = DType::kF32}), DType::kF32);
  EXPECT_EQ(ResolveMathDType(DType::kF32, {}), DType::kF32);
  EXPECT_EQ(ResolveMathDType(DType::kBF16, {.math_dtype = DType::kF16}), DType::kBF16);
  EXPECT_EQ(ResolveMathDType(DType::kUnknown, {.math_dtype = DType::kF16}), DType::kF16);
}

TEST(MfuTest, IsShareOfTheDensePeakOfAllGpus) {
  const DeviceSpec device = RoundDevice();
  const Mfu one = ComputeMfu(1e12, DurationNs(10'000'000), 1, DType::kBF16, &device);
  EXPECT_DOUBLE_EQ(*one.pct, 50);
  EXPECT_DOUBLE_EQ(*one.peak_tflops, 200);
  EXPECT_EQ(one.state, RooflineState::kOk);
  EXPECT_DOUBLE_EQ(*ComputeMfu(8e12, DurationNs(10'000'000), 8, DType::kBF16, &device).pct, 50);
}

TEST(MfuTest, OverHundredPercentIsAnError) {
  const DeviceSpec device = RoundDevice();
  const Mfu mfu = ComputeMfu(4e12, DurationNs(10'000'000), 1, DType::kBF16, &device);
  EXPECT_EQ(mfu.state, RooflineState::kImpossible);
  EXPECT_DOUBLE_EQ(*mfu.pct, 200) << "not clamped";
}

TEST(MfuTest, IsUnknownWithoutAPeak) {
  const DeviceSpec device = RoundDevice();
  EXPECT_EQ(ComputeMfu(1e12, DurationNs(1000), 1, DType::kBF16, nullptr).state,
            RooflineState::kUnknown);
  EXPECT_EQ(ComputeMfu(1e12, DurationNs(1000), 1, DType::kF8, &device).state,
            RooflineState::kUnknown);
  EXPECT_EQ(ComputeMfu(1e12, DurationNs(0), 1, DType::kBF16, &device).state,
            RooflineState::kUnknown);
  EXPECT_EQ(ComputeMfu(1e12, DurationNs(1000), 0, DType::kBF16, &device).state,
            RooflineState::kUnknown);
}

RC_GTEST_PROP(RooflineProperty, AttainableTimeIsTheLargerOfTheTwoLimits, ()) {
  const DeviceSpec device = RoundDevice();
  const double flops = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1LL << 50));
  const double bytes = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1LL << 40));
  const RooflinePoint point =
      PlaceOnRoofline({.flops = flops,
                       .bytes = bytes,
                       .time = DurationNs(*rc::gen::inRange<std::int64_t>(0, 1LL << 40)),
                       .math_dtype = DType::kBF16},
                      &device);
  if (flops + bytes == 0) return;
  RC_ASSERT(*point.attainable_us >= flops / 200e12 * 1e6 * (1 - 1e-12));
  RC_ASSERT(*point.attainable_us >= bytes / 1e12 * 1e6 * (1 - 1e-12));
  RC_ASSERT((point.bound == Bound::kCompute) == (flops / 200e12 > bytes / 1e12));
}

}  // namespace roofline_test
}  // namespace headroom
