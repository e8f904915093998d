#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/power_limit.h"
#include "whatif/test_job.h"

namespace headroom {
namespace power_limit_scenario_test {

/// Steps of one product of 10 ms and one addition of 10 ms, back to back on an H200 (700 W). Both
/// have more work than fits into their time, so they run at full power.
JobBuilder FullRate() {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward("aten::mm", "[[32768, 32768], [32768, 32768]]", 10'000, 2 * step + 1, kGemm);
    b.Forward("aten::add", "[[100000, 200000], [100000, 200000], []]", 10'000, 2 * step + 2);
  }
  return b;
}

TEST(PowerLimitScenarioTest, TheClockFallsUntilTheAverageFits) {
  JobBuilder b = FullRate();
  const Applied applied(b.Build(), "power-limit:watts=400");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // A waiting H200 draws 10 % of 700 W. At its full limit it holds 619.5 W, under 400 W 385 W. The
  // voltage is at its floor: 70 + 549.5 * f * 0.84^2 = 385.
  const double clock = (HeldWatts(400, 700) - 70) / ((HeldWatts(700, 700) - 70) * 0.84 * 0.84);
  ASSERT_NEAR(clock, 0.812, 0.001);
  const std::vector<double> times = applied.Times();
  EXPECT_NEAR(times[0], 10'000 / clock, 20);
  EXPECT_NEAR(times[1], 10'000 * (1 + 0.4 * (1 / clock - 1)), 10);
  EXPECT_EQ(applied.effect.memory_delta_bytes, 0);
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
  // The slowdown is 23.2 ms instead of 20 ms. At 200 W, 29 % of the limit, it is larger than the
  // error.
  EXPECT_NEAR(applied.effect.gpu_error, 1 - 20 / 23.23, 0.002);
  EXPECT_EQ(Applied(applied.job, "power-limit:watts=200").effect.gpu_error, 0.4);
}

TEST(PowerLimitScenarioTest, StatesTheEnergy) {
  JobBuilder b = FullRate();
  const Applied applied(b.Build(), "power-limit:watts=400");
  // 619.5 W for 20 ms are 12.4 J. The product takes 2.3 ms more, the addition 0.9 ms: 385 W for
  // 23.2 ms are 8.94 J.
  EXPECT_NE(applied.effect.why.find("at 81 % of its clock the GPU draws 385 W instead of"),
            std::string::npos);
  EXPECT_NE(applied.effect.why.find("8.94 J per step instead of 12.4 J, modelled"),
            std::string::npos);
}

TEST(PowerLimitScenarioTest, NothingChangesAtTheLimitOfTheCard) {
  JobBuilder b = FullRate();
  const Job& job = b.Build();
  for (const std::string_view watts : {"700", "1000"}) {
    const Applied applied(job, "power-limit:watts=" + std::string(watts));
    ASSERT_TRUE(applied.effect.applies);
    EXPECT_EQ(applied.edit.counts().tasks, 0);
    EXPECT_EQ(applied.effect.why, "the H200 has a power limit of 700 W, so nothing changes");
  }
}

TEST(PowerLimitScenarioTest, AStepThatDrawsLessKeepsItsTime) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    // 8 KiB in 1 ms: the kernel hardly works.
    b.Step().Forward("aten::add", "[[1024], [1024], []]", 1'000, step + 1);
  }
  const Job& job = b.Build();
  const Applied applied(job, "power-limit:watts=400");
  ASSERT_TRUE(applied.effect.applies);
  EXPECT_EQ(applied.edit.counts().tasks, 0);
  // Half of 700 W: 10 % waiting and 40 % running.
  EXPECT_EQ(applied.effect.why, "the step draws 350 W on average, which fits into 400 W");
  EXPECT_GT(Applied(job, "power-limit:watts=300").edit.counts().tasks, 0);
}

TEST(PowerLimitScenarioTest, ComesAfterChangesOfTheKernels) {
  JobBuilder b = FullRate();
  const Job& job = b.Build();
  // Without the product, only the addition slows, at the same clock.
  const Applied alone(job, "power-limit:watts=400");
  const Applied removed(job, "power-limit:watts=400+remove:match=sgemm");
  ASSERT_EQ(removed.Times().size(), 3u);
  EXPECT_NEAR(removed.Times()[0], alone.Times()[1], 10);
  // Kernels in half of the time still draw full power.
  const Applied faster(job, "power-limit:watts=400+gpu-speed");
  EXPECT_NEAR(faster.Times()[0], alone.Times()[0] / 2, 15);
}

TEST(PowerLimitScenarioTest, SaysWhatIsMissing) {
  const auto why = [](JobBuilder& b, std::string_view watts) {
    const Applied applied(b.Build(), "power-limit:watts=" + std::string(watts));
    EXPECT_FALSE(applied.effect.applies);
    return applied.effect.why;
  };
  JobBuilder full = FullRate();
  EXPECT_EQ(why(full, "60"),
            "60 W is below a tenth of the H200's power limit, which no card accepts; give 70 or "
            "more");
  JobBuilder deep = FullRate();
  EXPECT_NE(why(deep, "80").find("even at 15 % of its clock"), std::string::npos);
  JobBuilder unknown("Some GPU");
  unknown.Step().Forward("aten::add", "[[1024], [1024], []]", 1'000, 1);
  EXPECT_NE(why(unknown, "100").find("Some GPU"), std::string::npos);
  JobBuilder no_shapes;
  no_shapes.Step().Forward("aten::add", "", 1'000, 1);
  EXPECT_NE(why(no_shapes, "100").find("no shapes of operators"), std::string::npos);
}

}  // namespace power_limit_scenario_test
}  // namespace headroom
