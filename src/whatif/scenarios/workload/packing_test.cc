#include <gtest/gtest.h>

#include "whatif/test_linear_layers.h"

namespace headroom {
namespace packing_test {

TEST(PackingTest, HalfOfTheTokensAreHalfOfTheBatch) {
  LinearLayers layers;
  const Job& job = layers.Build();  // 32 rows.
  const Applied packed(job, "packing:fill=0.5"), half(job, "batch-size:n=16");
  ASSERT_TRUE(packed.effect.applies && half.effect.applies) << packed.effect.why;
  EXPECT_EQ(packed.Times(), half.Times());
  EXPECT_LT(packed.Times()[0], 10);
  EXPECT_EQ(packed.Times().back(), 100);  // The update.
  EXPECT_EQ(packed.effect.work, 1);       // The same samples.
  EXPECT_EQ(packed.effect.validated, Validity::kNo);
}

TEST(PackingTest, FillIsAShare) {
  LinearLayers layers;
  const Job& job = layers.Build();
  EXPECT_EQ(Applied(job, "packing:fill=1").effect.why, "already: no token is padding");
  EXPECT_NE(Applied(job, "packing:fill=2").effect.why.find("at most 1"), std::string::npos);
}

}  // namespace packing_test
}  // namespace headroom
