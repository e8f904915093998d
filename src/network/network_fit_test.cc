#include "network/network_fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "network/collectives.h"

namespace headroom {
namespace network_fit_test {

std::vector<MeasuredAllReduce> Measured(const Topology& topology, std::int64_t members) {
  std::vector<MeasuredAllReduce> measured;
  for (double bytes = 1024; bytes < 1e8; bytes *= 4) {
    measured.push_back({bytes, TimeOf(Collective::kAllReduce, Algorithm::kRing, bytes, topology,
                                      {.gpus = members, .nodes = members})
                                   .Total()
                                   .ms()});
  }
  return measured;
}

TEST(NetworkFitTest, FindsWhatMadeTheTimes) {
  Topology topology;
  topology.between = {.bytes_per_ns = 1.25, .latency = DurationNs(40'000)};
  for (const std::int64_t members : {2, 5}) {
    const Result<NetworkFit> fit = FitNetwork(Measured(topology, members), members);
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    EXPECT_NEAR(fit.value().link.bytes_per_ns, 1.25, 1e-4);
    EXPECT_NEAR(static_cast<double>(fit.value().link.latency.ns()), 40'000, 5);
    EXPECT_LT(fit.value().worst_error, 1e-3);
  }
}

TEST(NetworkFitTest, WhatIsWrittenIsRead) {
  const NetworkFit fit = {.link = {.bytes_per_ns = 0.117, .latency = DurationNs(61'500)}};
  const std::string text = RenderCluster("measured", fit, "headroom calibrate --network");
  const Result<Topology> read = ReadTopology({.name = "measured.toml", .content = text});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_NEAR(read.value().between.bytes_per_ns, 0.117, 1e-6);
  EXPECT_EQ(read.value().between.latency.ns(), 61'500);
  EXPECT_EQ(read.value().gpus_per_node, 1);
}

TEST(NetworkFitTest, RefusesWhatNoLinkDoes) {
  const std::vector<MeasuredAllReduce> two = {{1e3, 1}, {1e6, 2}};
  EXPECT_NE(FitNetwork(two, 2).status().message().find("too few"), std::string::npos);
  const std::vector<MeasuredAllReduce> falling = {{1e3, 100}, {1e6, 10}, {1e8, 1}};
  EXPECT_NE(FitNetwork(falling, 2).status().message().find("do not grow"), std::string::npos);
}

}  // namespace network_fit_test
}  // namespace headroom
