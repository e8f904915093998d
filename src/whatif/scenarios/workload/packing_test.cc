#include <gtest/gtest.h>

#include "whatif/test_linear_layers.h"

namespace headroom {
namespace packing_test {

TEST(PackingTest, HalfOfTheTokensAreHalfOfTheBatch) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward("aten::mm", "[[32, 64], [64, 256]]", 10, 10 * step + 1, kGemm);
    b.Forward("aten::bmm", "[[32, 8, 8], [32, 8, 8]]", 20, 10 * step + 2, kGemm);
    b.Update("Optimizer.step#SGD.step", "aten::add_", "[[64, 256], [64, 256], []]", 100);
  }
  const Job& job = b.Build();  // 32 rows.
  const Applied packed(job, "packing:fill=0.5"), half(job, "batch-size:n=16");
  ASSERT_TRUE(packed.effect.applies && half.effect.applies) << packed.effect.why;
  EXPECT_EQ(packed.Times(), half.Times());
  EXPECT_LT(packed.Times()[0], 10);
  EXPECT_EQ(packed.Times().back(), 100);  // The update.
  EXPECT_EQ(packed.effect.work, 1);       // The same samples.
  EXPECT_EQ(packed.effect.validated, Validity::kNo);
}

TEST(PackingTest, AJobWithoutAttentionHasNoSequences) {
  LinearLayers layers;
  EXPECT_EQ(Applied(layers.Build(), "packing:fill=0.5").effect.abstention, Abstention::kNothing);
}

TEST(PackingTest, FillIsAShare) {
  JobBuilder b;
  b.Step().Forward("aten::bmm", "[[32, 8, 8], [32, 8, 8]]", 20, 1, kGemm);
  const Job& job = b.Build();
  EXPECT_EQ(Applied(job, "packing:fill=1").effect.why, "already: no token is padding");
  EXPECT_NE(Applied(job, "packing:fill=2").effect.why.find("at most 1"), std::string::npos);
}

}  // namespace packing_test
}  // namespace headroom
