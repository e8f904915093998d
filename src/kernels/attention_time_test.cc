#include "kernels/attention_time.h"

#include <gtest/gtest.h>

namespace headroom {
namespace attention_time_test {

DeviceSpec H200Peaks() {
  DeviceSpec spec;
  spec.fp32_tflops = 66.9;
  spec.bf16_tensor_tflops = 989;
  spec.fp16_tensor_tflops = 989;
  spec.memory_bandwidth_gbs = 4800;
  return spec;
}

double Us(const AttentionShape& shape, bool backward, DType dtype = DType::kBF16) {
  const std::optional<DurationNs> time = FusedAttentionTime(shape, backward, dtype, H200Peaks());
  EXPECT_TRUE(time.has_value());
  return time ? time->us() : 0;
}

constexpr AttentionShape kCausal = {.sequences = 48,
                                    .queries = 1024,
                                    .keys = 1024,
                                    .key_size = 64,
                                    .value_size = 64,
                                    .causal = true,
                                    .dropout = true};
constexpr AttentionShape kFull = {.sequences = 96,
                                  .queries = 384,
                                  .keys = 384,
                                  .key_size = 64,
                                  .value_size = 64,
                                  .causal = false,
                                  .dropout = true};

// Sums of kernel times from PyTorch 2.11 on one H200 for these shapes.
TEST(FusedAttentionTimeTest, MeasuredOnOneH200) {
  EXPECT_NEAR(Us(kCausal, false), 61.4, 0.07 * 61.4);
  EXPECT_NEAR(Us(kCausal, true), 101.6, 0.12 * 101.6);
  EXPECT_NEAR(Us(kFull, false), 34.6, 0.1 * 34.6);
  EXPECT_NEAR(Us(kFull, true), 60.7, 0.12 * 60.7);
}

TEST(FusedAttentionTimeTest, HalfTheScoresAndNoDropoutAreCheaper) {
  AttentionShape whole = kCausal;
  whole.causal = false;
  EXPECT_NEAR(Us(whole, false) - 3, 2 * (Us(kCausal, false) - 3), 0.01);
  AttentionShape sure = kCausal;
  sure.dropout = false;
  // 6.44 GFLOP at 0.4 of 989 TFLOP/s, plus 3 us.
  EXPECT_NEAR(Us(sure, false), 3 + 16.28, 0.05);
}

TEST(FusedAttentionTimeTest, Float32RunsOnOrdinaryArithmetic) {
  // 6.44 GFLOP at 0.3 of 66.9 TFLOP/s, plus 3 us.
  EXPECT_NEAR(Us(kCausal, false, DType::kF32), 3 + 321, 1);
}

TEST(FusedAttentionTimeTest, UnknownDevicesAndHeadsAreNotTold) {
  DeviceSpec no_peak = H200Peaks();
  no_peak.bf16_tensor_tflops = std::nullopt;
  EXPECT_FALSE(FusedAttentionTime(kCausal, false, DType::kBF16, no_peak).has_value());
  AttentionShape wide = kCausal;
  wide.key_size = 512;
  EXPECT_FALSE(FusedAttentionTime(wide, false, DType::kBF16, H200Peaks()).has_value());
  EXPECT_FALSE(FusedAttentionTime(kCausal, false, DType::kF64, H200Peaks()).has_value());
}

}  // namespace attention_time_test
}  // namespace headroom
