#include "scale/loop_job.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"
#include "network/gradient_exchange.h"

namespace headroom {
namespace loop_job_test {

constexpr std::int64_t kMain = 1;

/// Steps of 1 ms: forward 300 us; backward 600 us with a gradient of 2 MB ready after each half;
/// update 100 us.
StoreBuilder Loop(int steps = 3) {
  StoreBuilder b;
  for (int step = 0; step < steps; ++step) {
    const int at = 1000 * step;
    b.Step(step, kMain, at, 1000);
    b.Region("FORWARD", kMain, at, 300);
    b.Region("BACKWARD", kMain, at + 300, 600);
    b.Instant("gradient", "last.weight", at + 600, R"("bytes": 2000000)");
    b.Instant("gradient", "first.weight", at + 900, R"("bytes": 2000000)");
    b.Region("OPTIMIZER", kMain, at + 900, 100);
  }
  return b;
}

Result<std::unique_ptr<LoopJob>> Make(const StoreBuilder& b) {
  return LoopJob::Make(*b.Build(), TestReferenceData(), {}, {});
}

/// 8 bytes per ns and 1 us per message.
ScaledStep OnTwo(LoopJob& job) {
  return job.On(FlatTopology(64 / kEthernetShare, DurationNs(1'000), 1), {.gpus = 2, .nodes = 2},
                std::nullopt);
}

TEST(LoopJobTest, TransfersGoBesideTheBackward) {
  Result<std::unique_ptr<LoopJob>> job = Make(Loop());
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_DOUBLE_EQ(job.value()->OnOneGpu().step_ms.mid, 1);
  EXPECT_DOUBLE_EQ(job.value()->GradientBytes(), 4e6);
  const ScaledStep two = OnTwo(*job.value());
  // Each transfer of two megabytes takes 252 us: the first from 600 to 852 us, the second after the
  // backward.
  EXPECT_DOUBLE_EQ(two.step_ms.mid, 1.252);
  EXPECT_DOUBLE_EQ(two.limits.exposed_ms, 0.252);
  EXPECT_DOUBLE_EQ(two.limits.transfers_ms, 0.504);
  EXPECT_DOUBLE_EQ(two.without_latency_ms, 1.25);
  EXPECT_NEAR(two.without_bytes_ms, 1.002, 1e-5);
  EXPECT_LT(two.step_ms.low, 1.252 - 0.34 * 0.252 + 1e-9);
  EXPECT_GT(two.step_ms.high, 1.252 + 0.34 * 0.252 - 1e-9);
}

TEST(LoopJobTest, OneBucketWaitsForTheLastGradient) {
  Result<std::unique_ptr<LoopJob>> job =
      LoopJob::Make(*Loop().Build(), TestReferenceData(), {}, {.bucket_bytes = 1e6});
  ASSERT_TRUE(job.ok());
  EXPECT_DOUBLE_EQ(OnTwo(*job.value()).step_ms.mid, 1.252);
  StoreBuilder small;
  for (int step = 0; step < 3; ++step) {
    small.Step(step, kMain, 1000 * step, 1000);
    small.Instant("gradient", "b", 1000 * step + 600, R"("bytes": 400000)");
    small.Instant("gradient", "a", 1000 * step + 900, R"("bytes": 400000)");
  }
  job = Make(small);
  ASSERT_TRUE(job.ok());
  // The gradients do not fill the first bucket, so one exchange of 800,000 bytes follows both.
  EXPECT_DOUBLE_EQ(OnTwo(*job.value()).step_ms.mid, 1 + 0.102);
}

TEST(LoopJobTest, SaysWhatIsMissing) {
  StoreBuilder bare;
  bare.Step(0, kMain, 0, 1000);
  EXPECT_NE(Make(bare).status().message().find("profile_loop"), std::string::npos);
  StoreBuilder gpu = Loop();
  gpu.Launch("aten::mm", kMain, 10, "gemm", 7, 20, 10);
  EXPECT_NE(Make(gpu).status().message().find("ran on a GPU"), std::string::npos);
  Result<std::unique_ptr<LoopJob>> job = Make(Loop());
  ASSERT_TRUE(job.ok());
  EXPECT_NE(job.value()->On(Topology(), {.gpus = 2, .nodes = 2}, 4).no_answer.find("samples"),
            std::string::npos);
}

}  // namespace loop_job_test
}  // namespace headroom
