#include <gtest/gtest.h>

#include "whatif/test_job.h"

namespace headroom {
namespace metaflow_test {

TEST(MetaflowTest, ProductsOfOneInputBecomeOne) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::native_layer_norm", "[[3072, 768], [], [768], [768], []]", 10, s + 1);
    for (int i = 0; i < 3; ++i)
      b.Forward("aten::addmm", "[[768], [3072, 768], [768, 768], [], []]", 100, s + 2 + i, kGemm);
    b.Forward("aten::gelu", "[[3072, 768]]", 10, s + 9);
    b.Forward("aten::addmm", "[[768], [3072, 768], [768, 768], [], []]", 100, s + 10, kGemm);
  }
  const Applied applied(b.Build(), "metaflow");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // One product has 24 x 6 tiles of 128 x 128: 2 waves on 132 multiprocessors. Three separate
  // products take 6 waves. Merged, 24 x 18 = 432 tiles are 4 waves: 300 us x 4 / 6.
  EXPECT_EQ(applied.Times(),
            (std::vector<double>{10, 200, 10, 100, 10, 200, 10, 100, 10, 200, 10, 100}));
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(MetaflowTest, ProductsAroundWhatAnotherScenarioReplacedStayApart) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mm", "[[256, 256], [256, 768]]", 30, s + 1, kGemm);
    b.Forward("aten::bmm", "[[8, 128, 64], [8, 64, 128]]", 20, s + 2, kGemm);
    b.Forward("aten::_softmax", "[[8, 128, 128], [], []]", 7, s + 3);
    b.Forward("aten::bmm", "[[8, 128, 128], [8, 128, 64]]", 21, s + 4, kGemm);
    b.Forward("aten::mm", "[[256, 256], [256, 256]]", 31, s + 5, kGemm);
  }
  const Job& job = b.Build();
  EXPECT_TRUE(Applied(job, "flash-attention").effect.applies);
  EXPECT_FALSE(Applied(job, "flash-attention+metaflow").effect.applies);
}

TEST(MetaflowTest, AReluBehindAConvolutionRunsInsideIt) {
  constexpr const char* kConcrete =
      R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])";
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::cudnn_convolution",
              "[[64, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []]", s + 1,
              {{kGemm, 300}}, kConcrete);
    b.Forward("aten::relu_", "[[64, 64, 56, 56]]", 40, s + 2);
    b.Forward("aten::relu_", "[[64, 64, 56, 56]]", 41, s + 3);
  }
  const Applied applied(b.Build(), "metaflow");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_EQ(applied.Times(), (std::vector<double>{300, 41, 300, 41, 300, 41}));
}

}  // namespace metaflow_test
}  // namespace headroom
