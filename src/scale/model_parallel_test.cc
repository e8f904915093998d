#include "scale/model_parallel.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

/// Nodes of eight: 100 bytes/ns inside, 40 out of each.
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
  // Two whole nodes: nobody else is on them.
  const GpuGroup sixteen = TensorGroup(Nodes(), kFourNodes, {.tensor = 16});
  EXPECT_EQ(sixteen.placement.nodes, 2);
  EXPECT_EQ(sixteen.topology.between.bytes_per_ns, 40);
}

TEST(ModelParallelTest, ReplicasShareWhatLeavesANode) {
  // Ranks 0, 4, 8, ...: two of each node, beside three other groups.
  const GpuGroup of_four = DataGroup(Nodes(), kFourNodes, {.tensor = 4});
  EXPECT_EQ(of_four.placement.gpus, 8);
  EXPECT_EQ(of_four.placement.nodes, 4);
  EXPECT_EQ(of_four.topology.between.bytes_per_ns, 10);
  // One of each node, beside seven others.
  const GpuGroup of_eight = DataGroup(Nodes(), kFourNodes, {.tensor = 8});
  EXPECT_EQ(of_eight.placement.gpus, 4);
  EXPECT_EQ(of_eight.placement.nodes, 4);
  EXPECT_EQ(of_eight.topology.between.bytes_per_ns, 5);
  // All in one node.
  const GpuGroup staged = DataGroup(Nodes(), kFourNodes, {.tensor = 2, .stages = 4});
  EXPECT_EQ(staged.placement.gpus, 4);
  EXPECT_EQ(staged.placement.nodes, 1);
}

TEST(ModelParallelTest, StagesSendOverWhatLiesBetweenThem) {
  const auto time = [](const ModelParallel& split, const Placement& job) {
    return TimeToNextStage(1e6, Nodes(), job, split).ns();
  };
  // The next stage is on the next node, and all eight send.
  EXPECT_EQ(time({.stages = 4}, kFourNodes), 5'000 + 200'000);
  // Four GPUs of one node.
  EXPECT_EQ(time({.stages = 4}, {.gpus = 4, .nodes = 1}), 1'000 + 10'000);
}

}  // namespace
}  // namespace headroom
