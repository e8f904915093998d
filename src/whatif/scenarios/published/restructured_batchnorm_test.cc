#include <gtest/gtest.h>

#include "whatif/test_job.h"

namespace headroom {
namespace restructured_batchnorm_test {

constexpr const char* kNorm = "[[64, 64, 56, 56], [64], [64], [64], [64], [], [], []]";

TEST(RestructuredBatchnormTest, NormsTakeHalfAndActivationsBesideThemGo) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::cudnn_batch_norm", kNorm, 80, s + 1);
    b.Forward("aten::clamp_min_", "[[64, 64, 56, 56], []]", 40, s + 2);
    b.Forward("aten::mm", "[[64, 64], [64, 64]]", 30, s + 3, kGemm);
    b.Forward("aten::clamp_min_", "[[64, 64], []]", 5, s + 4);
    b.Backward("ReluBackward0", "aten::threshold_backward", "[[64, 64], [64, 64], []]", 6, s + 4);
    b.Backward("MmBackward0", "aten::mm", "[[64, 64], [64, 64]]", 31, s + 3, kGemm);
    b.Backward("ReluBackward0", "aten::threshold_backward",
               "[[64, 64, 56, 56], [64, 64, 56, 56], []]", 60, s + 2);
    b.Backward("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward", kNorm, 120, s + 1);
  }
  const Applied applied(b.Build(), "restructured-batchnorm");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // Norms take 80 / 2 and 120 / 2. The ReLU after the first norm and its backward before the last
  // norm are removed. The ReLU next to the product and its backward remain.
  const std::vector<double> step = {40, 30, 5, 6, 31, 60};
  std::vector<double> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), step.begin(), step.end());
  EXPECT_EQ(applied.Times(), all);
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(RestructuredBatchnormTest, WithoutNormsItDoesNotApply) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward("aten::mm", "[[64, 64], [64, 64]]", 30, step, kGemm);
  }
  EXPECT_FALSE(Applied(b.Build(), "restructured-batchnorm").effect.applies);
}

}  // namespace restructured_batchnorm_test
}  // namespace headroom
