// Recurrent operators in amp, tf32 and batch-size.
#include <gtest/gtest.h>

#include "kernels/recurrent_time.h"
#include "whatif/scenarios/workload/batch_curve.h"
#include "whatif/test_job.h"

namespace headroom {
namespace recurrent_test {

constexpr std::string_view kStepKernel = "void RNN_blockPersist_fp_LSTM<float, float, float>(int)";

/// One LSTM layer per step: 64 samples of 100 time steps, 512 inputs and 512 hidden units.
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

/// Returns the modelled microseconds of the layer with a batch, in a type.
double ModelledUs(const Job& job, double batch, DType dtype) {
  const RecurrentWork work = {.batch = batch, .steps = 100, .inputs = 512, .hidden = 512};
  return RecurrentNs(work, dtype, *job.rates(), job.kernel_constants()).value() / 1e3;
}

TEST(RecurrentTest, ItsStepsWaitForEachOtherAtAnyBatch) {
  JobBuilder b = Lstm(2'000);
  const Job& job = b.Build();
  // The batch is 64 samples, not the 100 time steps of the first dimension.
  EXPECT_EQ(SamplesPerStep(job), 64);
  const Applied twice(job, "batch-size:n=128"), half(job, "batch-size:n=32");
  ASSERT_TRUE(twice.effect.applies) << twice.effect.why;
  const double here = ModelledUs(job, 64, DType::kF32);
  EXPECT_NEAR(twice.Times()[0], 2'000 * ModelledUs(job, 128, DType::kF32) / here, 1);
  EXPECT_NEAR(half.Times()[0], 2'000 * ModelledUs(job, 32, DType::kF32) / here, 1);
  // 64 blocks of a step's product leave half of the GPU idle, so twice the batch takes little more.
  EXPECT_LT(twice.Times()[0], 1.4 * 2'000);
  EXPECT_GT(half.Times()[0], 0.5 * 2'000);
  EXPECT_EQ(twice.effect.validated, Validity::kNo);
}

TEST(RecurrentTest, InSixteenBitsOneKernelRunsAllSteps) {
  JobBuilder b = Lstm(4'000);
  const Job& job = b.Build();
  const Applied tf32(job, "tf32"), amp(job, "amp");
  ASSERT_TRUE(tf32.effect.applies) << tf32.effect.why;
  EXPECT_NEAR(tf32.Times()[0], ModelledUs(job, 64, DType::kTF32), 2);
  EXPECT_NEAR(amp.Times()[0], ModelledUs(job, 64, DType::kBF16), 2);
  // 100 steps of 7.4 us each, as cuDNN's persistent kernel takes on an H200.
  EXPECT_NEAR(amp.Times()[0], 760, 30);
  EXPECT_EQ(amp.effect.validated, Validity::kNo);
}

}  // namespace recurrent_test
}  // namespace headroom
