#include "scale/model_parallel.h"

#include <gtest/gtest.h>

namespace headroom {
namespace model_parallel_test {

/// Nodes of eight GPUs: 100 bytes/ns inside a node, 40 bytes/ns out of each node.
Topology Nodes() {
  Topology topology;
  topology.gpus_per_node = 8;
  topology.inside = {.bytes_per_ns = 100, .latency = DurationNs(1'000)};
  topology.between = {.bytes_per_ns = 40, .latency = DurationNs(5'000)};
  return topology;
}

constexpr Placement kFourNodes = {.gpus = 32, .nodes = 4};

TEST(ModelParallelTest, GpusThatShareLayersAreNeighbours) {
  const GpuGroup four = TensorGroup(Nodes(), kFourNodes, {.tensor = 4});
  EXPECT_EQ(four.placement.gpus, 4);
  EXPECT_EQ(four.placement.nodes, 1);
  // The group fills two nodes, so it shares no uplink.
  const GpuGroup sixteen = TensorGroup(Nodes(), kFourNodes, {.tensor = 16});
  EXPECT_EQ(sixteen.placement.nodes, 2);
  EXPECT_EQ(sixteen.topology.between.bytes_per_ns, 40);
}

TEST(ModelParallelTest, ReplicasShareWhatLeavesANode) {
  // The group has ranks 0, 4, 8, ...: two in each node. Three other groups use the same uplinks.
  const GpuGroup of_four = DataGroup(Nodes(), kFourNodes, {.tensor = 4});
  EXPECT_EQ(of_four.placement.gpus, 8);
  EXPECT_EQ(of_four.placement.nodes, 4);
  EXPECT_EQ(of_four.topology.between.bytes_per_ns, 10);
  // The group has one rank in each node. Seven other groups use the same uplinks.
  const GpuGroup of_eight = DataGroup(Nodes(), kFourNodes, {.tensor = 8});
  EXPECT_EQ(of_eight.placement.gpus, 4);
  EXPECT_EQ(of_eight.placement.nodes, 4);
  EXPECT_EQ(of_eight.topology.between.bytes_per_ns, 5);
  // All ranks of the group are in one node.
  const GpuGroup staged = DataGroup(Nodes(), kFourNodes, {.tensor = 2, .stages = 4});
  EXPECT_EQ(staged.placement.gpus, 4);
  EXPECT_EQ(staged.placement.nodes, 1);
}

TEST(ModelParallelTest, AGroupLiesAsItsWorst) {
  // Six ranks per stage: the first stage is in one node, the second on two.
  const GpuGroup group = DataGroup(Nodes(), {.gpus = 24, .nodes = 3}, {.stages = 4});
  EXPECT_EQ(group.placement.gpus, 6);
  EXPECT_EQ(group.placement.nodes, 2);
}

TEST(ModelParallelTest, SwitchesCountByHowFarAGroupReaches) {
  Topology topology = Nodes();
  topology.nodes_of_switch = 4;
  topology.oversubscription = 2;
  // The group's four members are on every other node of eight.
  const GpuGroup group = DataGroup(topology, {.gpus = 64, .nodes = 8}, {.tensor = 16});
  EXPECT_EQ(group.placement.nodes, 4);
  EXPECT_EQ(group.topology.between.bytes_per_ns, 40.0 / 2 / 8);
  EXPECT_EQ(group.topology.BetweenNodes(4).bytes_per_ns, group.topology.between.bytes_per_ns);
}

TEST(ModelParallelTest, GpusThatShareLayersFillNodes) {
  EXPECT_TRUE(FillNodes({.tensor = 4}, kFourNodes));
  EXPECT_TRUE(FillNodes({.tensor = 16}, kFourNodes));
  EXPECT_FALSE(FillNodes({.tensor = 3}, {.gpus = 24, .nodes = 3}));
  EXPECT_TRUE(FillNodes({.tensor = 3}, {.gpus = 6, .nodes = 1}));
}

TEST(ModelParallelTest, StagesSendOverWhatLiesBetweenThem) {
  const auto sends = [](const ModelParallel& split, const Placement& job) {
    return TimeBetweenStages(1e6, Nodes(), job, split);
  };
  constexpr std::int64_t kInside = 1'000 + 10'000;
  // Each stage has a node, and all eight GPUs send.
  const StageSends apart = sends({.stages = 4}, kFourNodes);
  EXPECT_EQ(apart.slowest.ns(), 5'000 + 200'000);
  EXPECT_EQ(apart.sum.ns(), 3 * (5'000 + 200'000));
  // All stages are in one node.
  const StageSends near = sends({.stages = 4}, {.gpus = 4, .nodes = 1});
  EXPECT_EQ(near.slowest.ns(), kInside);
  EXPECT_EQ(near.sum.ns(), 3 * kInside);
  // With two stages per node, only the middle one of three borders crosses nodes. Four GPUs send
  // over it.
  const StageSends mixed = sends({.stages = 4}, {.gpus = 16, .nodes = 2});
  EXPECT_EQ(mixed.slowest.ns(), 5'000 + 100'000);
  EXPECT_EQ(mixed.sum.ns(), 2 * kInside + 5'000 + 100'000);
}

}  // namespace model_parallel_test
}  // namespace headroom
