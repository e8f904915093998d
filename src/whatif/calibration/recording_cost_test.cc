#include "whatif/calibration/recording_cost.h"

#include <gtest/gtest.h>

namespace headroom {
namespace recording_cost_test {

/// A call of `call` ns after `work` ns of host work, during which the given numbers of operators
/// and frames begin or end.
struct OneCall {
  std::int64_t work = 0, call = 0;
  std::uint16_t operator_halves = 0, frame_halves = 0;
  bool slow = false;
};

Graph GraphOf(const std::vector<OneCall>& calls) {
  Graph graph;
  graph.edge_begin.push_back(0);
  for (const OneCall& call : calls) {
    const auto piece = static_cast<std::uint32_t>(graph.pieces.size());
    graph.pieces.push_back({.start = TimeNs(0),
                            .end = TimeNs(call.work),
                            .operator_halves = call.operator_halves,
                            .frame_halves = call.frame_halves});
    const bool first = graph.tasks.empty();
    graph.edges.push_back({.from = first ? static_cast<TaskIndex>(calls.size() - 1)
                                         : static_cast<TaskIndex>(graph.tasks.size() - 1),
                           .cycles_back = static_cast<std::uint8_t>(first ? 1 : 0),
                           .lag = DurationNs(call.work)});
    graph.tasks.push_back({.duration = DurationNs(call.call),
                           .slow_work = call.slow,
                           .slow_call = call.slow,
                           .pieces_begin = piece,
                           .pieces_end = piece + 1});
    graph.edge_begin.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  graph.steps = 1;
  return graph;
}

Plan Removed(const std::vector<OneCall>& calls, const RecordingCost& cost) {
  const Graph graph = GraphOf(calls);
  Plan plan = MakePlan(graph);
  RemoveRecordingCost(graph, cost, plan);
  return plan;
}

constexpr RecordingCost kCost = {
    .operator_record = 1'000, .call_record = 500, .frame_record = 200, .after_wait = 0.5};

TEST(RecordingCostTest, HalfARecordForEachBeginAndEnd) {
  const Plan plan =
      Removed({{.work = 10'000, .call = 4'000, .operator_halves = 3, .frame_halves = 2}}, kCost);
  EXPECT_EQ(plan.lag[0], 10'000 - 1'500 - 200);
  EXPECT_EQ(plan.duration[0], 3'500);
}

TEST(RecordingCostTest, WhatDoesNotFitIsTakenFromTheWorkBehind) {
  // The records cost 4,000. The first call's work shrinks by three quarters of 2,000. The other
  // 2,500 are subtracted from the second call's work.
  const Plan plan = Removed(
      {{.work = 2'000, .call = 500, .operator_halves = 8}, {.work = 10'000, .call = 500}}, kCost);
  EXPECT_EQ(plan.lag[0], 500);
  EXPECT_EQ(plan.lag[1], 7'500);
  EXPECT_EQ(plan.duration[0], 100);  // The cost is at most four fifths of a call.
}

TEST(RecordingCostTest, WorkBehindAWaitIsBroughtToTheUsualSpeedFirst) {
  const Plan plan =
      Removed({{.work = 10'000, .call = 4'000, .operator_halves = 2, .slow = true}}, kCost);
  EXPECT_EQ(plan.lag[0], 5'000 - 1'000);
  EXPECT_EQ(plan.duration[0], 2'000 - 500);
}

}  // namespace recording_cost_test
}  // namespace headroom
