#include "scale/periodic_exchange.h"

#include <gtest/gtest.h>

namespace headroom {
namespace periodic_exchange_test {

/// A step takes 100 ms on one GPU, and 40 ms more on several: 30 ms for bytes and 10 ms for
/// messages.
class TestJob final : public ScalableJob {
 public:
  ScaledStep OnOneGpu() override { return On(Topology(), Placement(), std::nullopt); }
  ScaledStep On(const Topology&, const Placement& placement,
                std::optional<std::int64_t> samples) override {
    ScaledStep step;
    if (samples) step.no_answer = "no";
    step.step_ms = {.low = 90, .mid = 100, .high = 110};
    step.without_bytes_ms = step.without_latency_ms = 100;
    if (placement.gpus == 1) return step;
    step.step_ms = {.low = 120, .mid = 140, .high = 160};
    step.limits = {.host_ms = 0, .gpu_ms = 100, .exposed_ms = 40, .transfers_ms = 50};
    step.without_bytes_ms = 110;
    step.without_latency_ms = 130;
    return step;
  }
  std::optional<std::int64_t> samples() const override { return 8; }
  std::optional<double> deviation() const override { return 0.04; }
  double loader_share() const override { return 0; }
};

const Placement kTwo = {.gpus = 2, .nodes = 2};

TEST(PeriodicExchangeTest, AccumulationIsAMean) {
  TestJob job;
  PeriodicExchange rare(job, PeriodicKind::kAccumulation, 4, 0);
  const ScaledStep step = rare.On(Topology(), kTwo, std::nullopt);
  EXPECT_DOUBLE_EQ(step.step_ms.low, 97.5);
  EXPECT_DOUBLE_EQ(step.step_ms.mid, 110);
  EXPECT_DOUBLE_EQ(step.step_ms.high, 122.5);
  EXPECT_DOUBLE_EQ(step.limits.exposed_ms, 10);
  EXPECT_DOUBLE_EQ(step.limits.transfers_ms, 12.5);
  EXPECT_DOUBLE_EQ(step.without_bytes_ms, 102.5);
  EXPECT_DOUBLE_EQ(step.without_latency_ms, 107.5);
  EXPECT_DOUBLE_EQ(*rare.deviation(), 0.02);
  EXPECT_DOUBLE_EQ(rare.OnOneGpu().step_ms.mid, 100);
  EXPECT_DOUBLE_EQ(rare.On(Topology(), Placement(), std::nullopt).step_ms.mid, 100);
  EXPECT_EQ(rare.On(Topology(), kTwo, 4).no_answer, "no");
}

TEST(PeriodicExchangeTest, EveryStepIsTheJobItself) {
  TestJob job;
  PeriodicExchange rare(job, PeriodicKind::kAccumulation, 1, 0);
  EXPECT_DOUBLE_EQ(rare.On(Topology(), kTwo, std::nullopt).step_ms.mid, 140);
  EXPECT_DOUBLE_EQ(*rare.deviation(), 0.04);
}

TEST(PeriodicExchangeTest, LocalSgdAveragesWhileNothingComputes) {
  TestJob job;
  PeriodicExchange rare(job, PeriodicKind::kLocalSgd, 10, 1e9);
  // 1 GB at 1 GB/s takes 1 s in every ten steps.
  const Topology topology = FlatTopology(8 / kEthernetShare, DurationNs(0), 1);
  const ScaledStep step = rare.On(topology, kTwo, std::nullopt);
  EXPECT_NEAR(step.step_ms.mid, 200, 1e-6);
  EXPECT_NEAR(step.step_ms.low, 90 + 66, 1e-6);
  EXPECT_NEAR(step.step_ms.high, 110 + 134, 1e-6);
  EXPECT_NEAR(step.limits.exposed_ms, 100, 1e-6);
  EXPECT_NEAR(step.without_latency_ms, 200, 1e-6);
  EXPECT_NEAR(step.without_bytes_ms, 100, 1e-3);
}

}  // namespace periodic_exchange_test
}  // namespace headroom
