#include "whatif/job/same_job.h"

#include <gtest/gtest.h>

#include "whatif/test_job.h"

namespace headroom {
namespace same_job_test {

constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";

TEST(SameJobTest, AStepsGradientsAreCounted) {
  JobBuilder builder;
  builder.Step();
  for (int gradient = 0; gradient < 3; ++gradient)
    builder.Backward("AccumulateGradNode", kAccumulate, "[[8, 8]]", 10, gradient + 1);
  EXPECT_EQ(GradientsAStep(builder.Build()), 3);
}

TEST(SameJobTest, WithoutThemNothingIsTold) {
  JobBuilder builder;
  builder.Step().Backward("MmBackward0", "aten::mm", "[[8, 8], [8, 8]]", 10, 1);
  EXPECT_EQ(GradientsAStep(builder.Build()), std::nullopt);
}

TEST(SameJobTest, SeveralBatchesAStepAreOneJobAndOtherCountsAreNot) {
  EXPECT_TRUE(CanBeOneJob(161, 161));
  EXPECT_TRUE(CanBeOneJob(161, 4 * 161));
  EXPECT_TRUE(CanBeOneJob(4 * 161, 161));
  EXPECT_TRUE(CanBeOneJob(161, std::nullopt));
  EXPECT_TRUE(CanBeOneJob(std::nullopt, std::nullopt));
  EXPECT_FALSE(CanBeOneJob(161, 199));
}

}  // namespace same_job_test
}  // namespace headroom
