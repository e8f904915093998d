#include "whatif/memory/memory_deltas.h"

#include <gtest/gtest.h>

#include "whatif/forecast.h"
#include "whatif/memory/memory_room.h"
#include "whatif/test_network.h"

namespace headroom {
namespace memory_deltas_test {

// In the network, 64 + 64 KiB grow with the batch. Under autocast, 32 + 32 KiB grow, in addition to
// 128 KiB of 16-bit weights (step_memory_test.cc).
TEST(MemoryDeltasTest, ForecastsOfCombinationsCountOnce) {
  JobBuilder b = Network();
  Forecaster forecaster(b.Build());
  const auto delta = [&](const char* scenario) {
    const Forecast forecast = forecaster.Run(scenario, ParseScenario(scenario).value());
    EXPECT_TRUE(forecast.applies) << forecast.why;
    return static_cast<double>(forecast.memory_delta_bytes.value_or(-1)) / kKiB;
  };
  EXPECT_EQ(delta("batch-size:n=128"), 128);
  EXPECT_EQ(delta("amp"), 64);
  EXPECT_EQ(delta("amp+batch-size:n=128"), 128);
  EXPECT_EQ(delta("amp+gpu-speed:factor=2"), 64);
}

TEST(MemoryDeltasTest, WhatIsAddedBesideCountsWhateverIsKnown) {
  JobBuilder with_backward = Network(), without;
  without.Step().Forward("aten::mm", "[[8, 8], [8, 8]]", 20, 1, kGemm);
  MemoryDeltas known(with_backward.Build()), unknown(without.Build());
  EXPECT_EQ(known.Of(100, {}).value().bytes, 100);
  EXPECT_EQ(known.Of(100, {}).value().peak_bytes, std::nullopt);
  EXPECT_EQ(known.Of(1024, {.batch_ratio = 2}).value().bytes, 129 * 1024);
  EXPECT_EQ(unknown.Of(100, {}).value().bytes, 100);
  EXPECT_FALSE(unknown.Of(100, {.batch_ratio = 2}).has_value());
}

TEST(MemoryDeltasTest, APeakBeyondTheGpuDoesNotFit) {
  JobBuilder b = Network();
  const Job& job = b.Build();
  const double gpu = *job.device()->UsableBytes();
  EXPECT_EQ(WhyNoRoom(job, {.bytes = 1, .peak_bytes = gpu}), "");
  EXPECT_NE(
      WhyNoRoom(job, {.bytes = 1, .peak_bytes = gpu + 1}).find("does not fit: the modelled peak"),
      std::string::npos);
  const auto added = static_cast<std::int64_t>(gpu) + 1;
  EXPECT_NE(WhyNoRoom(job, {.bytes = added, .peak_bytes = std::nullopt}).find("GB alone exceed"),
            std::string::npos);
}

}  // namespace memory_deltas_test
}  // namespace headroom
