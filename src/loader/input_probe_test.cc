// Handwritten probes in the format of headroom._probe. Times are in microseconds.
#include "loader/input_probe.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/store_builder.h"

namespace headroom {
namespace input_probe_test {

class Probe {
 public:
  Probe() { builder_.Instant("region", "loader.probe begin", 0); }

  Probe& Values(const std::string& name, int count, double mean) {
    for (int i = 0; i < count; ++i) {
      // A ripple gives the interval a width.
      builder_.Counter("loader.probe_" + name, "", "", ++time_, mean * (1 + 0.01 * (i % 3 - 1)));
    }
    return *this;
  }
  Probe& Metric(const std::string& name, double value) {
    builder_.Counter(name, "", "", ++time_, value);
    return *this;
  }
  InputProbe End() {
    builder_.Instant("region", "loader.probe end", ++time_);
    return *FindInputProbe(*builder_.Build());
  }
  StoreBuilder& builder() { return builder_; }

 private:
  StoreBuilder builder_;
  std::int64_t time_ = 0;
};

TEST(InputProbe, LoopLoaderAndStorage) {
  Probe p;
  p.Values("real_us", 4, 50'000).Values("replay_us", 4, 20'000);
  p.Values("alone_us", 5, 48'000).Values("again_us", 5, 30'000);
  const InputProbe probe = p.End();
  EXPECT_NEAR(probe.loop->mid, 20, 0.1);
  EXPECT_NEAR(probe.loader_cost->mid, 30, 0.2);
  EXPECT_LT(probe.loader_cost->low, 30);
  EXPECT_GT(probe.loader_cost->high, 30);
  EXPECT_NEAR(probe.storage->mid.value(), 18, 0.3);
  EXPECT_NEAR(*probe.LimitMs(), 30, 0.2);  // The slower of the loop and the preparation in memory.
  EXPECT_TRUE(probe.doubts.empty()) << probe.doubts.front();
}

TEST(InputProbe, ADifferenceWithinTheNoiseIsOnlyABound) {
  Probe p;
  p.Values("real_us", 4, 50'000).Values("replay_us", 4, 20'000);
  p.Values("alone_us", 5, 30'010).Values("again_us", 5, 30'000);
  const InputProbe probe = p.End();
  EXPECT_FALSE(probe.storage->mid);
  EXPECT_GT(probe.storage->high, 0.01);
}

TEST(InputProbe, GuardsAreTold) {
  Probe p;
  p.Metric("gpu_sm_clock_mhz", 1980).Metric("gpu_sm_clock_mhz", 1500);
  p.Metric("cpu_pressure_some_pct", 2).Metric("cpu_pressure_some_pct", 40);
  p.Values("real_us", 4, 50'000).Values("replay_us", 2, 20'000).Values("alone_us", 5, 30'000);
  p.Values("other_size", 1, 1).Metric("cgroup_cpu_throttled_cores", 0.2);
  p.builder().Instant("region", "loader.probe gave up: a stream cannot be read again", 500);
  const InputProbe probe = p.End();
  EXPECT_FALSE(probe.loader_cost) << "turns are missing";
  EXPECT_FALSE(probe.LimitMs()) << "preparation alone is unknown";
  std::string doubts;
  for (const std::string& doubt : probe.doubts) doubts += doubt + "\n";
  for (const std::string_view piece : {"only 2 of 4", "cached samples", "quota", "pressure",
                                       "clock of a GPU", "differed in size", "a stream"}) {
    EXPECT_NE(doubts.find(piece), std::string::npos) << piece << " in\n" << doubts;
  }
}

// The phase in which the loader runs alone does not affect the turns.
TEST(InputProbe, TheGpuMayIdleBehindTheTurns) {
  Probe p;
  p.Metric("gpu_sm_clock_mhz", 1980).Values("real_us", 4, 50'000).Values("replay_us", 4, 20'000);
  p.Metric("gpu_sm_clock_mhz", 300);  // The probe reports these batches after the last one.
  p.Values("alone_us", 5, 30'000).Values("again_us", 5, 30'000);
  EXPECT_TRUE(p.End().doubts.empty());
}

TEST(InputProbe, NoneWasAskedFor) {
  StoreBuilder builder;
  builder.Instant("region", "loader.raised ValueError", 3);
  EXPECT_FALSE(FindInputProbe(*builder.Build()));
}

TEST(InputProbe, ARunThatEndsWithinItsProbe) {
  StoreBuilder builder;
  builder.Instant("region", "loader.probe begin", 3);
  const auto store = builder.Build();
  ASSERT_EQ(ProbeSpans(*store).size(), 1u);
  EXPECT_EQ(ProbeSpans(*store).front().end, TimeNs(INT64_MAX));
  EXPECT_FALSE(FindInputProbe(*store)->LimitMs());
}

}  // namespace input_probe_test
}  // namespace headroom
