#include <gtest/gtest.h>

#include "whatif/job/attention.h"
#include "whatif/test_job.h"

namespace headroom {
namespace flash_attention_test {

constexpr const char* kScores = "[[2, 4, 128, 128], []]";

/// A projection, attention over 2 sequences of 4 heads, 128 by 128, heads of 64, and a projection;
/// twice, with the backward of the attention.
JobBuilder Attention(const char* mask = "[[2, 4, 128, 128], [2, 1, 1, 128]]",
                     const char* softmax = "[[2, 4, 128, 128], [], []]") {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mm", "[[256, 256], [256, 768]]", 30, s + 1, kGemm);
    b.Forward("aten::bmm", "[[8, 128, 64], [8, 64, 128]]", 20, s + 2, kGemm);
    b.Forward("aten::mul", kScores, 5, s + 3);
    b.Forward("aten::add", mask, 6, s + 4);
    b.Forward("aten::_softmax", softmax, 7, s + 5);
    b.Forward("aten::native_dropout", kScores, 8, s + 6);
    b.Forward("aten::bmm", "[[8, 128, 128], [8, 128, 64]]", 21, s + 7, kGemm);
    b.Forward("aten::copy_", "[[2, 128, 4, 64], [2, 128, 4, 64], []]", 3, s + 8);
    b.Forward("aten::mm", "[[256, 256], [256, 256]]", 31, s + 9, kGemm);
    b.Backward("MmBackward0", "aten::mm", "[[256, 256], [256, 256]]", 40, s + 9, kGemm);
    b.Backward("BmmBackward0", "aten::bmm", "[[8, 128, 64], [8, 64, 128]]", 22, s + 7, kGemm);
    b.Backward("SoftmaxBackward0", "aten::_softmax_backward_data",
               "[[2, 4, 128, 128], [2, 4, 128, 128], [], []]", 9, s + 5);
    b.Backward("BmmBackward0", "aten::bmm", "[[8, 128, 128], [8, 128, 64]]", 23, s + 2, kGemm);
    b.Backward("MmBackward0", "aten::mm", "[[256, 768], [768, 256]]", 41, s + 1, kGemm);
  }
  return b;
}

TEST(FlashAttentionTest, OneKernelEachWayInPlaceOfAll) {
  JobBuilder b = Attention();
  const Applied applied(b.Build(), "flash-attention");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size(), 3u * 6);
  // Each pass runs projection, attention, projection. The forward pass computes
  // 4 * 8 * 128^2 * 64 = 33.55 MFLOP, which takes 1.67 us at 0.3 of 66.9 TFLOP/s. Its startup adds
  // 3 us. The backward pass takes 2.5 * 1.67 us, plus 7 us of startup.
  EXPECT_EQ(times[0], 30);
  EXPECT_NEAR(times[1], 3 + 1.67, 0.02);
  EXPECT_EQ(times[2], 31);
  EXPECT_EQ(times[3], 40);
  EXPECT_NEAR(times[4], 7 + 2.5 * 1.67, 0.05);
  EXPECT_EQ(times[5], 41);
}

TEST(FlashAttentionTest, WithAmpItRunsIn16BitsAndWhatIsGoneIsNotCast) {
  JobBuilder b = Attention();
  const Job& job = b.Build();
  const Applied alone(job, "amp"), both(job, "amp+flash-attention");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  ASSERT_EQ(both.Times().size(), 3u * 6);
  // 33.55 MFLOP at 0.4 of 989 TFLOP/s take 0.08 us. 131072 random numbers of 110 operations at 66.9
  // TFLOP/s take 0.22 us.
  EXPECT_NEAR(both.Times()[1], 3 + 0.085 + 0.216, 0.01);
  EXPECT_LE(both.edit.counts().inserted, alone.edit.counts().inserted);
}

TEST(FlashAttentionTest, AMaskOverPairsIsCausalWhereItIsOneForAllHeads) {
  EXPECT_FALSE(FindEagerAttention(Attention().Build()).front().shape.causal);
  JobBuilder causal = Attention("[[2, 4, 128, 128], [1, 1, 128, 128]]");
  EXPECT_TRUE(FindEagerAttention(causal.Build()).front().shape.causal);
  JobBuilder bias = Attention("[[2, 4, 128, 128], [1, 4, 128, 128]]");
  EXPECT_FALSE(FindEagerAttention(bias.Build()).front().shape.causal);
}

TEST(FlashAttentionTest, ASoftmaxOfOtherScoresIsNone) {
  JobBuilder b = Attention("[[2, 4, 128, 128], [2, 1, 1, 128]]", "[[8, 64, 128], [], []]");
  const Applied applied(b.Build(), "flash-attention");
  EXPECT_FALSE(applied.effect.applies);
  // Shapes were recorded, so recording them is not a remedy.
  EXPECT_EQ(applied.effect.why,
            "the job has no unfused attention (two batched products around a softmax)");
}

TEST(AttentionKindTest, RecordedKernelsChangeByThePublishedRatesAndFlash3NeedsHopper) {
  const auto fused = [](const char* gpu, const char* forward, const char* backward) {
    JobBuilder b(gpu);
    for (int step = 0; step < 2; ++step) {
      b.Step();
      b.Forward("aten::_flash_attention_forward", "", 176, step + 1, forward);
      b.Backward("FlashBackward0", "aten::_flash_attention_backward", "", 244, step + 1, backward);
    }
    return b;
  };
  constexpr const char* kForward2 = "void flash_fwd_kernel<Flash_fwd_kernel_traits<64>>";
  constexpr const char* kBackward2 = "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64>";
  JobBuilder hopper = fused("NVIDIA H200", kForward2, kBackward2);
  const Job& job = hopper.Build();
  const Applied flash3(job, "attention:kind=flash3");
  ASSERT_TRUE(flash3.effect.applies) << flash3.effect.why;
  EXPECT_NEAR(flash3.Times()[0], 1.2 + (176 - 1.2) / 1.75, 0.01);
  EXPECT_NEAR(flash3.Times()[1], 1.2 + (244 - 1.2) / 1.62, 0.01);
  EXPECT_EQ(Applied(job, "attention:kind=cudnn").Times(), flash3.Times());
  for (const char* same : {"attention:kind=flash2", "attention:kind=sdpa"})
    EXPECT_EQ(Applied(job, same).effect.why, "already: attention runs as flash2");
  JobBuilder ampere = fused("NVIDIA A100-SXM4-80GB", kForward2, kBackward2);
  const Job& older = ampere.Build();
  EXPECT_NE(Applied(older, "attention:kind=flash3").effect.why.find("requires Hopper"),
            std::string::npos);
  EXPECT_EQ(Applied(older, "attention:kind=cudnn").Times(),
            Applied(older, "gpu-speed:factor=1").Times());
}

TEST(AttentionKindTest, UnfusedAttentionIsFusedAtTheLibrarysRate) {
  JobBuilder b = Attention();
  const Job& job = b.Build();
  // The model's rates on Hopper are those of cuDNN.
  EXPECT_EQ(Applied(job, "attention:kind=cudnn").Times(), Applied(job, "flash-attention").Times());
  EXPECT_GT(Applied(job, "amp+attention:kind=flash2").Times()[1],
            Applied(job, "amp+attention:kind=flash3").Times()[1]);
}

}  // namespace flash_attention_test
}  // namespace headroom
