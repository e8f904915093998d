#include "network/gradient_exchange.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/schedule.h"

namespace headroom {
namespace gradient_exchange_test {

/// One stream that repeats four tasks of 100 us: forward, two parts of the backward, and update.
Graph OneStream() {
  Graph graph;
  graph.steps = 1;
  graph.edge_begin.push_back(0);
  for (TaskIndex task = 0; task < 4; ++task) {
    graph.tasks.push_back({.kind = TaskKind::kGpu, .step = 0, .duration = DurationNs(100'000)});
    graph.edges.push_back({.from = task == 0 ? 3 : task - 1,
                           .cycles_back = static_cast<std::uint8_t>(task == 0 ? 1 : 0),
                           .kind = EdgeKind::kStream});
    graph.edge_begin.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  return graph;
}

/// Returns the step time in us. Each part of the backward makes a gradient of 2 MB ready. An
/// exchange takes 5 us plus 0.1 ns per byte.
double StepUs(const GradientTransfer& transfer, TaskIndex next) {
  const Graph graph = OneStream();
  const Plan plan = MakePlan(graph);
  Edit edit(graph, plan);
  const std::uint32_t channel = edit.AddChannel({.name = "network"});
  const GradientStep step = {.gradients = {{.bytes = 2e6, .ready = 1}, {.bytes = 2e6, .ready = 2}},
                             .next = next};
  InsertBuckets(
      graph, step, transfer, channel,
      [](double bytes) {
        return CollectiveTime{.latency = DurationNs(5'000),
                              .transfer = DurationNs(static_cast<std::int64_t>(bytes / 10))};
      },
      edit);
  Replayer replayer;
  return replayer.Run(edit.Finish().plan).step_ns / 1e3;
}

TEST(GradientExchangeTest, TheUpdateWaitsForTheLastBucket) {
  // The first bucket is exchanged from 200 to 405 us, the second from 405 to 610 us; then the
  // update runs.
  EXPECT_DOUBLE_EQ(StepUs({}, 3), 710);
  // A single bucket could hold all gradients, but the first bucket is small.
  EXPECT_DOUBLE_EQ(StepUs({.bucket_bytes = 1e9}, 3), 710);
}

TEST(GradientExchangeTest, WithoutAnUpdateTheNextStepWaits) {
  EXPECT_DOUBLE_EQ(StepUs({}, kNoTask), 610);
}

TEST(GradientExchangeTest, HalfTheBytesTakeHalfTheTransfer) {
  // The first MB does not fill the first bucket, so both go at 300 us.
  EXPECT_DOUBLE_EQ(StepUs({.element_bytes = 2}, 3), 300 + 205 + 100);
  EXPECT_DOUBLE_EQ(StepUs({.bucket_bytes = 0, .element_bytes = 2}, 3), 305 + 105 + 100);
}

TEST(GradientExchangeTest, WithoutOverlapTheExchangeFollowsTheBackward) {
  // The backward ends at 300 us.
  EXPECT_DOUBLE_EQ(StepUs({.overlaps = false}, 3), 300 + 2 * 205 + 100);
}

TEST(GradientExchangeTest, TheFirstBucketIsSmall) {
  const GradientStep step = {.gradients = {{.bytes = 2e6}, {.bytes = 2e7}, {.bytes = 2e7}, {}}};
  EXPECT_EQ(BucketEnds(step, kBucketBytes), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(BucketEnds(step, 0), (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace gradient_exchange_test
}  // namespace headroom
