#include "network/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace headroom {
namespace topology_test {

constexpr const char* kMachine = R"(name = "mine"
gpus_per_node = 8
nodes = 4
source = "a data sheet"
[inside]
kind = "nvlink"
gbps = 2400
[between]
kind = "network"
gbps = 100
adapters = 2
latency_us = 5
[switch]
nodes = 2
oversubscription = 3
)";

Result<Topology> Read(const std::string& text) {
  return ReadTopology({.name = "mine.toml", .content = text});
}

std::string With(const std::string& from, const std::string& to) {
  std::string text = kMachine;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TopologyTest, LinksAreRatesThatCollectivesGet) {
  const Result<Topology> topology = Read(kMachine);
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  EXPECT_DOUBLE_EQ(topology.value().inside.bytes_per_ns, 0.8 * 300);
  EXPECT_EQ(topology.value().inside.latency.ns(), 3'400);
  EXPECT_DOUBLE_EQ(topology.value().between.bytes_per_ns, 25);
  EXPECT_EQ(topology.value().between.latency.ns(), 5'000);
  EXPECT_DOUBLE_EQ(topology.value().BetweenNodes(2).bytes_per_ns, 25);
  EXPECT_DOUBLE_EQ(topology.value().BetweenNodes(3).bytes_per_ns, 25.0 / 3);
}

TEST(TopologyTest, WithoutP2pEachByteCrossesThePcieLinkTwice) {
  constexpr const char* kPcie = R"(name = "mine"
gpus_per_node = 8
nodes = 1
source = "a data sheet"
[inside]
kind = "pcie"
gbps = 504
)";
  const Link with = Read(kPcie).value().inside;
  const Topology without = Read(std::string(kPcie) + "p2p = false\n").value();
  EXPECT_DOUBLE_EQ(without.inside.bytes_per_ns, with.bytes_per_ns / 2);
  // Eight RTX 5090 on PCIe 5.0 reach 28 GB/s, four 35 (NVIDIA/nccl issue 1639).
  EXPECT_LT(AtSlowest(without)->inside.bytes_per_ns, 28);
  EXPECT_NEAR(AtFastest(without)->inside.bytes_per_ns, 35, 0.5);
  EXPECT_FALSE(AtSlowest(Read(kPcie).value()));
  EXPECT_DOUBLE_EQ(Read(std::string(kPcie) + "p2p = true\n").value().inside.bytes_per_ns,
                   with.bytes_per_ns);
}

TEST(TopologyTest, AnEfficiencyMayBeARange) {
  const Topology topology =
      Read(With("latency_us = 5", "latency_us = 5\nefficiency = [0.25, 0.64]")).value();
  EXPECT_DOUBLE_EQ(topology.between.bytes_per_ns, 25 * 0.4);
  EXPECT_DOUBLE_EQ(AtSlowest(topology)->between.bytes_per_ns, 25 * 0.25);
  EXPECT_DOUBLE_EQ(AtFastest(topology)->between.bytes_per_ns, 25 * 0.64);
  EXPECT_DOUBLE_EQ(AtSlowest(topology)->inside.bytes_per_ns, topology.inside.bytes_per_ns);
}

TEST(TopologyTest, PlacesGpusOnAsFewMachinesAsHoldThem) {
  const Topology topology = Read(kMachine).value();
  EXPECT_EQ(PlaceGpus(topology, 8).value().nodes, 1);
  EXPECT_EQ(PlaceGpus(topology, 12).value().nodes, 2);
  EXPECT_EQ(PlaceGpus(topology, 12).value().PerNode(), 6);
  EXPECT_NE(PlaceGpus(topology, 33).status().message().find("has 4 at most"), std::string::npos);
}

TEST(TopologyTest, RefusesWhatCannotBe) {
  const auto says = [](const std::string& text, const std::string& what) {
    const Result<Topology> topology = Read(text);
    return !topology.ok() && topology.status().code() == StatusCode::kBadInput &&
           topology.status().message().find("mine.toml") != std::string::npos &&
           topology.status().message().find(what) != std::string::npos;
  };
  EXPECT_TRUE(says(With("gpus_per_node = 8", "gpus_per_node = 0"), "line 2"));
  EXPECT_TRUE(says(With("gbps = 2400", "gbps = -1"), "line 7"));
  EXPECT_TRUE(says(With("\"nvlink\"", "\"string\""), "must be nvlink"));
  EXPECT_TRUE(says(With("gbps = 2400", "gbs = 300"), "gbps"));
  EXPECT_TRUE(says(With("oversubscription = 3", "oversubscription = 0.5"), "line 15"));
  EXPECT_TRUE(says("name = \"x\"\ngpus_per_node = 1\nsource = \"y\"\n", "[between] is missing"));
  EXPECT_TRUE(says("name = \"x\"\ngpus_per_node = 2\nsource = \"y\"\n", "[inside] is missing"));
  EXPECT_TRUE(says(With("gpus_per_node = 8", "gpus_per_node = 1"), "no inner link"));
  EXPECT_TRUE(says("name = ", "line 1"));
  EXPECT_TRUE(says(With("gbps = 2400", "gbps = 2400\np2p = false"), "line 8"));
  EXPECT_TRUE(says(With("latency_us = 5", "efficiency = [0.9, 0.3]"), "a range [low, high]"));
  EXPECT_TRUE(says(With("latency_us = 5", "efficiency = [0.9]"), "line 12"));
}

TEST(TopologyTest, BuiltInOnesAreReadAndNamedApart) {
  const Result<std::vector<Topology>> all = LoadBuiltInTopologies();
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_GT(all.value().size(), 8u);
  EXPECT_EQ(
      std::adjacent_find(all.value().begin(), all.value().end(),
                         [](const Topology& a, const Topology& b) { return a.name == b.name; }),
      all.value().end());
}

}  // namespace topology_test
}  // namespace headroom
