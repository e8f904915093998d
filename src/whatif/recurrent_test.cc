// Recurrent operators in amp, tf32 and batch-size.
#include <gtest/gtest.h>

#include "whatif/scenarios/batch_curve.h"
#include "whatif/test_job.h"

namespace headroom {
namespace recurrent_test {

constexpr std::string_view kStepKernel = "void RNN_blockPersist_fp_LSTM<float, float, float>(int)";

/// One LSTM layer per step: 64 samples of 100 time steps, 512 inputs and 512 hidden units. 26.8
/// GFLOP take 0.57 ms at 70 % of 66.9 TFLOP/s.
constexpr double kProductsUs = 2.0 * 6'400 * 4 * 512 * 1'024 / (66.9e6 * 0.7);

JobBuilder Lstm(std::int64_t kernel_us) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward(
        "aten::_cudnn_rnn",
        "[[100, 64, 512], [], [], [], [1, 64, 512], [1, 64, 512], [], [], [], [], [], [], [], "
        "[], [], []]",
        10 * step + 1, {{kStepKernel, kernel_us}},
        R"(["", "", "4", "", "", "", "2", "512", "0", "1", "False", "0.", "True", "False", )"
        R"("[]", ""])");
  }
  return b;
}

TEST(RecurrentTest, OnlyItsProductsGrowWithTheBatch) {
  JobBuilder b = Lstm(2'000);
  const Job& job = b.Build();
  // The batch is 64 samples, not the 100 time steps of the first dimension.
  EXPECT_EQ(SamplesPerStep(job), 64);
  const Applied twice(job, "batch-size:n=128"), half(job, "batch-size:n=32");
  ASSERT_TRUE(twice.effect.applies) << twice.effect.why;
  EXPECT_NEAR(twice.Times()[0], 2'000 + kProductsUs, 1);
  EXPECT_NEAR(half.Times()[0], 2'000 - kProductsUs / 2, 1);
  EXPECT_EQ(twice.effect.validated, Validity::kNo);
}

TEST(RecurrentTest, OnlyItsProductsGainFromTensorCores) {
  JobBuilder b = Lstm(2'000);
  const Job& job = b.Build();
  const Applied tf32(job, "tf32"), amp(job, "amp");
  ASSERT_TRUE(tf32.effect.applies) << tf32.effect.why;
  // Products reach 82 % of 494.7 TFLOP/s (TF32) and of 989 TFLOP/s (AMP).
  EXPECT_NEAR(tf32.Times()[0], 2'000 - kProductsUs * (1 - 66.9 * 0.7 / (494.7 * 0.82)), 2);
  EXPECT_NEAR(amp.Times()[0], 2'000 - kProductsUs * (1 - 66.9 * 0.7 / (989 * 0.82)), 2);
  EXPECT_EQ(amp.effect.validated, Validity::kNo);
}

}  // namespace recurrent_test
}  // namespace headroom
