// Probes as headroom._probe tells of them, written by hand. Times are microseconds.
#include "pipeline/input_probe.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/store_builder.h"

namespace headroom {
namespace {

class Probe {
 public:
  Probe() { builder_.Instant("region", "loader.probe begin", 0); }

  Probe& Values(const std::string& name, int count, double mean) {
    for (int i = 0; i < count; ++i) {
      // A ripple, so that there is an interval.
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
  p.Values("real_us", 40, 50'000).Values("replay_us", 40, 20'000);
  p.Values("alone_us", 40, 48'000).Values("again_us", 40, 30'000);
  const InputProbe probe = p.End();
  EXPECT_NEAR(probe.loop->mid, 20, 0.1);
  EXPECT_NEAR(probe.loader_cost->mid, 30, 0.2);
  EXPECT_LT(probe.loader_cost->low, 30);
  EXPECT_GT(probe.loader_cost->high, 30);
  EXPECT_TRUE(probe.storage_is_clear);
  EXPECT_NEAR(probe.storage->mid, 18, 0.3);
  EXPECT_NEAR(*probe.LimitMs(), 30, 0.2);  // Of loop, preparation in memory, storage.
  EXPECT_TRUE(probe.doubts.empty()) << probe.doubts.front();
}

TEST(InputProbe, ADifferenceWithinTheNoiseIsOnlyABound) {
  Probe p;
  p.Values("real_us", 40, 50'000).Values("replay_us", 40, 20'000);
  p.Values("alone_us", 40, 30'010).Values("again_us", 40, 30'000);
  const InputProbe probe = p.End();
  EXPECT_FALSE(probe.storage_is_clear);
  EXPECT_EQ(probe.storage->mid, 0);
  EXPECT_GT(probe.storage->high, 0.01);
}

TEST(InputProbe, GuardsAreTold) {
  Probe p;
  p.Values("real_us", 40, 50'000).Values("replay_us", 20, 20'000).Values("alone_us", 40, 30'000);
  p.Values("other_size", 1, 1).Metric("cgroup_cpu_throttled_cores", 0.2);
  p.Metric("gpu_sm_clock_mhz", 1980).Metric("gpu_sm_clock_mhz", 1500);
  p.Metric("cpu_pressure_some_pct", 2).Metric("cpu_pressure_some_pct", 40);
  p.builder().Instant("region", "loader.probe gave up: a stream cannot be read again", 500);
  const InputProbe probe = p.End();
  EXPECT_FALSE(probe.loader_cost) << "the turns are not whole";
  std::string doubts;
  for (const std::string& doubt : probe.doubts) doubts += doubt + "\n";
  for (const std::string_view piece : {"only 20 of 30", "samples again", "quota", "pressure",
                                       "clock of the GPU", "not of the size", "a stream"}) {
    EXPECT_NE(doubts.find(piece), std::string::npos) << piece << " in\n" << doubts;
  }
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

}  // namespace
}  // namespace headroom
