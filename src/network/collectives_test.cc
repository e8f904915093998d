#include "network/collectives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom {
namespace collectives_test {

/// Nodes of four GPUs. Links inside a node: 10 bytes per ns, 1 us per message. Links between nodes:
/// 2 bytes per ns, 10 us per message.
Topology FourAMachine() {
  Topology topology;
  topology.gpus_per_node = 4;
  topology.inside = {.bytes_per_ns = 10, .latency = DurationNs(1'000)};
  topology.between = {.bytes_per_ns = 2, .latency = DurationNs(10'000)};
  return topology;
}

TEST(CollectivesTest, ARingInsideAMachine) {
  const CollectiveTime time =
      TimeOf(Collective::kAllReduce, Algorithm::kRing, 1e6, FourAMachine(), {.gpus = 4});
  // 2 x 3 / 4 of a megabyte, in 2 x 3 messages.
  EXPECT_EQ(time.transfer.ns(), 150'000);
  EXPECT_EQ(time.latency.ns(), 6'000);
}

TEST(CollectivesTest, ARingOverMachinesPassesTheSlowestLink) {
  const CollectiveTime time = TimeOf(Collective::kAllReduce, Algorithm::kRing, 1e6, FourAMachine(),
                                     {.gpus = 8, .nodes = 2});
  EXPECT_EQ(time.transfer.ns(), 875'000);
  // 14 messages, of which two go between the machines.
  EXPECT_EQ(time.latency.ns(), 12 * 1'000 + 2 * 10'000);
  const CollectiveTime gather = TimeOf(Collective::kAllGather, Algorithm::kRing, 1e6,
                                       FourAMachine(), {.gpus = 8, .nodes = 2});
  EXPECT_EQ(2 * gather.Total().ns(), time.Total().ns());
}

TEST(CollectivesTest, OneGpuHasNobodyToTalkTo) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree}) {
    EXPECT_EQ(TimeOf(Collective::kAllReduce, algorithm, 1e9, FourAMachine(), {}).Total().ns(), 0);
  }
}

TEST(CollectivesTest, ManyMachinesTakeTreesForSmallTensors) {
  const Placement many = {.gpus = 4'000, .nodes = 1'000};
  EXPECT_EQ(FastestTime(Collective::kAllReduce, 1e5, FourAMachine(), many).algorithm,
            Algorithm::kTree);
  EXPECT_EQ(FastestTime(Collective::kAllReduce, 1e10, FourAMachine(), many).algorithm,
            Algorithm::kRing);
}

TEST(CollectivesTest, OversubscribedSwitchesSlowOnlyWhatLeavesThem) {
  Topology topology = FourAMachine();
  topology.nodes_of_switch = 2;
  topology.oversubscription = 4;
  const auto transfer = [&](std::int64_t nodes) {
    return TimeOf(Collective::kAllReduce, Algorithm::kRing, 1e6, topology,
                  {.gpus = 4 * nodes, .nodes = nodes})
        .transfer.ns();
  };
  EXPECT_EQ(transfer(2), 875'000);
  EXPECT_NEAR(static_cast<double>(transfer(3)), 2.0 * 11 / 12 * 1e6 / 0.5, 1);
}

/// Links with the latencies of NVLink and InfiniBand.
Topology WithLl128() {
  Topology topology = FourAMachine();
  topology.inside.latency = DurationNs(3'400);
  topology.between.latency = DurationNs(14'000);
  topology.inside.start = topology.between.start = DurationNs(8'400);
  topology.inside.ll128 = Ll128{.ring = DurationNs(1'900), .tree = DurationNs(1'250)};
  topology.between.ll128 = Ll128{.ring = DurationNs(4'000), .tree = DurationNs(8'500)};
  return topology;
}

TEST(CollectivesTest, SmallTensorsUseAProtocolOfLessLatency) {
  Topology topology = WithLl128();
  const Placement many = {.gpus = 400, .nodes = 100};
  const auto gather = [&](double bytes) {
    return FastestTime(Collective::kAllGather, bytes, topology, many);
  };
  // 300 messages inside nodes and 99 between them. LL128 sends at 0.92 of the rate of 2 bytes per
  // ns.
  EXPECT_EQ(gather(1e6).latency.ns(), 14'000 + 300 * 1'900 + 99 * 4'000);
  EXPECT_NEAR(static_cast<double>(gather(1e6).transfer.ns()), 399.0 / 400 * 1e6 / 1.84, 1);
  EXPECT_EQ(gather(1e9).latency.ns(), 8'400 + 300 * 3'400 + 99 * 14'000);
  // All links must support it.
  topology.between.ll128.reset();
  EXPECT_EQ(gather(1e6).latency.ns(), 8'400 + 300 * 3'400 + 99 * 14'000);
}

TEST(CollectivesTest, OneGpuPerNodeSlowsLl128) {
  const CollectiveTime time =
      FastestTime(Collective::kAllGather, 1e5, WithLl128(), {.gpus = 50, .nodes = 50});
  EXPECT_EQ(time.latency.ns(), 14'000 + 49 * 4'000);
  EXPECT_NEAR(static_cast<double>(time.transfer.ns()), 49.0 / 50 * 1e5 / 1.4, 1);
}

RC_GTEST_PROP(CollectivesProperties, MoreBytesOrSlowerLinksNeverTakeLess, ()) {
  Topology topology = *rc::gen::element(FourAMachine(), WithLl128());
  const auto nodes = *rc::gen::inRange<std::int64_t>(1, 2000);
  const Placement placement = {.gpus = nodes * *rc::gen::inRange<std::int64_t>(1, 5),
                               .nodes = nodes};
  const double bytes = *rc::gen::inRange(0, 100'000'000);
  const auto collective = *rc::gen::element(Collective::kAllReduce, Collective::kAllGather);
  const CollectiveTime time = FastestTime(collective, bytes, topology, placement);
  RC_ASSERT(FastestTime(collective, 2 * bytes + 1, topology, placement).Total() >= time.Total());
  topology.between.bytes_per_ns /= 2;
  topology.inside.latency += topology.inside.latency;
  RC_ASSERT(FastestTime(collective, bytes, topology, placement).Total() >= time.Total());
}

}  // namespace collectives_test
}  // namespace headroom
