#include <gtest/gtest.h>

#include "whatif/test_job.h"

namespace headroom {
namespace fuse_pointwise_test {

TEST(FusePointwiseTest, AChainKeepsWhatItMustReadAndWrite) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mm", "[[1024, 1024], [1024, 1024]]", 30, s + 1, kGemm);
    b.Forward("aten::mul", "[[1024, 1024], []]", 10, s + 2);
    b.Forward("aten::add", "[[1024, 1024], [1024, 1024], []]", 14, s + 3);
    b.Forward("aten::tanh", "[[1024, 1024]]", 11, s + 4);
    b.Forward("aten::mm", "[[1024, 1024], [1024, 1024]]", 31, s + 5, kGemm);
  }
  const Applied applied(b.Build(), "fuse-pointwise");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size(), 3u * 3);
  // In tensors of 4 MiB, mul reads 1 and writes 1, add 2 and 1, tanh 1 and 1: 7 in total. Between
  // them, two are written and read: 4. The remaining 3 of 7 apply to 8.8 + 12.8 + 9.8 us, plus one
  // start of 1.2 us.
  EXPECT_NEAR(times[1], 1.2 + 31.4 * 3 / 7, 0.01);
  EXPECT_EQ(times[0], 30);
  EXPECT_EQ(times[2], 31);
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(FusePointwiseTest, OtherSizesAndOtherWorkEndAChain) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mul", "[[1024, 1024], []]", 10, s + 2);
    b.Forward("aten::mul", "[[512, 1024], []]", 6, s + 3);
    b.Forward("aten::mm", "[[1024, 1024], [1024, 1024]]", 30, s + 4, kGemm);
    b.Forward("aten::mul", "[[512, 1024], []]", 6, s + 5);
  }
  const Applied applied(b.Build(), "fuse-pointwise");
  EXPECT_FALSE(applied.effect.applies);
}

}  // namespace fuse_pointwise_test
}  // namespace headroom
