#include <gtest/gtest.h>

#include "whatif/job/operators.h"
#include "whatif/test_job.h"

namespace headroom {
namespace sequence_length_test {

/// Three steps: an embedding of 2 sequences of 128 tokens, a projection, unfused attention with 4
/// heads of 64, and a projection, with their backward.
JobBuilder Unfused(const char* indices = "[[1000, 256], [2, 128], [], [], []]") {
  constexpr const char* kScores = "[[2, 4, 128, 128], []]";
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::embedding", indices, 5, s);
    b.Forward("aten::mm", "[[256, 256], [256, 768]]", 30, s + 1, kGemm);
    b.Forward("aten::bmm", "[[8, 128, 64], [8, 64, 128]]", 20, s + 2, kGemm);
    b.Forward("aten::mul", kScores, 5, s + 3);
    b.Forward("aten::_softmax", "[[2, 4, 128, 128], [], []]", 7, s + 5);
    b.Forward("aten::bmm", "[[8, 128, 128], [8, 128, 64]]", 21, s + 7, kGemm);
    b.Forward("aten::copy_", "[[2, 128, 4, 64], [2, 128, 4, 64], []]", 3, s + 8);
    b.Forward("aten::mm", "[[256, 256], [256, 256]]", 31, s + 9, kGemm);
    b.Backward("MmBackward0", "aten::mm", "[[256, 256], [256, 256]]", 40, s + 9, kGemm);
    b.Backward("BmmBackward0", "aten::bmm", "[[8, 128, 64], [8, 64, 128]]", 22, s + 7, kGemm);
    b.Backward("SoftmaxBackward0", "aten::_softmax_backward_data",
               "[[2, 4, 128, 128], [2, 4, 128, 128], [], []]", 9, s + 5);
    b.Update("Optimizer.step#SGD.step", "aten::add_", "[[256, 768], [256, 768], []]", 50);
  }
  return b;
}

/// Three steps of a product and fused attention, whose helper kernel takes 4 us.
JobBuilder Fused(const char* keys = "[2, 4, 128, 64]") {
  const std::string dims =
      std::string("[[2, 4, 128, 64], ") + keys + ", " + keys + ", [], [], [], []]";
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward("aten::mm", "[[256, 256], [256, 768]]", 30, 100 * step + 1, kGemm);
    b.Forward("aten::_scaled_dot_product_flash_attention", dims, 100 * step + 2,
              {{"void pytorch_flash::flash_fwd_kernel<float>(int)", 40}, {kAdd, 4}});
  }
  return b;
}

std::string WhyNot(JobBuilder b) {
  const Applied applied(b.Build(), "sequence-length:n=64");
  EXPECT_FALSE(applied.effect.applies);
  return applied.effect.why;
}

TEST(SequenceLengthTest, ScoresShrinkWithTheSquareOfTheLength) {
  JobBuilder b = Unfused();
  const Applied applied(b.Build(), "sequence-length:n=64");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  // Memory-bound kernels keep their start of 1.2 us. The copy of the output is no score, and the
  // update does not depend on tokens.
  const std::vector<double> expected = {1.2 + 3.8 / 2, 15,   5,  1.2 + 3.8 / 4, 1.2 + 5.8 / 4, 5.25,
                                        1.2 + 1.8 / 2, 15.5, 20, 5.5,           1.2 + 7.8 / 4, 50};
  ASSERT_EQ(times.size(), 3 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(times[i], expected[i], 0.003) << i;
  EXPECT_EQ(applied.effect.work, 0.5);
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
  // The memory of scores is not modelled.
  EXPECT_FALSE(applied.effect.memory_delta_bytes.has_value());
}

TEST(SequenceLengthTest, TheRecordedLengthChangesNothing) {
  JobBuilder b = Unfused();
  const Job& job = b.Build();
  const Applied applied(job, "sequence-length:n=128");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_EQ(applied.edit.counts().tasks, 0);
  EXPECT_EQ(applied.effect.work, 1);
  EXPECT_EQ(applied.effect.memory_delta_bytes, 0);
  EXPECT_EQ(applied.effect.memory_change, MemoryChange());
}

TEST(SequenceLengthTest, OnlyTheMainKernelOfFusedAttentionWorksOnScores) {
  JobBuilder b = Fused();
  const Applied applied(b.Build(), "sequence-length:n=64");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  EXPECT_NEAR(times[0], 15, 0.003);
  EXPECT_NEAR(times[1], 10, 0.003);
  EXPECT_NEAR(times[2], 1.2 + 2.8 / 2, 0.003);
  EXPECT_EQ(applied.effect.memory_delta_bytes, 0);
  EXPECT_EQ(applied.effect.memory_change.batch_ratio, 0.5);
}

TEST(SequenceLengthTest, WithFlashAttentionTheFusedKernelWorksOnScores) {
  JobBuilder b = Unfused();
  const Job& job = b.Build();
  const Applied alone(job, "flash-attention"), both(job, "flash-attention+sequence-length:n=64");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  ASSERT_EQ(both.Times().size(), alone.Times().size());
  EXPECT_NEAR(both.Times()[2], alone.Times()[2] / 4, 0.003);
  EXPECT_EQ(both.effect.memory_delta_bytes, 0);
}

TEST(SequenceLengthTest, CastsOfScoresGrowWithTheSquareToo) {
  JobBuilder b = Unfused();
  const Job& job = b.Build();
  Applied alone(job, "amp"), both(job, "amp+sequence-length:n=64");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  ASSERT_EQ(alone.edit.inserted().size(), both.edit.inserted().size());
  bool found = false;
  for (std::size_t i = 0; i < alone.edit.inserted().size(); ++i) {
    const Edit::NewKernel& before = alone.edit.inserted()[i];
    if (before.before_task == kNoTask ||
        NameOfOperator(job, job.ContextOf(before.before_task).op) != "aten::_softmax")
      continue;
    found = true;
    EXPECT_NEAR(both.edit.inserted()[i].duration.us(), 1.2 + (before.duration.us() - 1.2) / 4,
                0.003);
  }
  EXPECT_TRUE(found);
}

TEST(SequenceLengthTest, LongerSequencesExcludeFurtherPositions) {
  JobBuilder b = Unfused();
  const Job& job = b.Build();
  constexpr const char* kNote = "learned positions";
  EXPECT_NE(Applied(job, "sequence-length:n=256").effect.why.find(kNote), std::string::npos);
  EXPECT_EQ(Applied(job, "sequence-length:n=64").effect.why.find(kNote), std::string::npos);
}

TEST(SequenceLengthTest, AbstainsIfTheLengthIsUnknown) {
  JobBuilder plain;
  plain.Step().Forward("aten::mm", "[[256, 256], [256, 768]]", 30, 1, kGemm);
  EXPECT_EQ(WhyNot(std::move(plain)), "the job has no attention");
  JobBuilder shapeless;
  shapeless.Step().Forward("aten::bmm", "", 30, 1, kGemm);
  EXPECT_TRUE(
      WhyNot(std::move(shapeless))
          .starts_with("the shapes of the batched products and fused attention were not recorded"));
  EXPECT_EQ(WhyNot(Unfused("[[1000, 256], [2, 96], [], [], []]")),
            "the length is ambiguous: the embedding reads 96 tokens per sample, the attention 128");
  EXPECT_EQ(WhyNot(Fused("[2, 4, 256, 64]")),
            "the length is ambiguous: queries and keys of the attention differ in number");
}

}  // namespace sequence_length_test
}  // namespace headroom
