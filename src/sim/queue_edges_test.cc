#include "sim/queue_edges.h"

#include <gtest/gtest.h>

#include "sim/schedule.h"
#include "sim/test_graph.h"

namespace headroom {
namespace queue_edges_test {

/// Consecutive launches of 10 ns, each of a kernel of 100 ns. The queue has two places: a launch
/// waits until the kernel two before its own has started.
Graph QueueOfTwo(int launches) {
  Graph graph;
  const auto call = [](int i) { return static_cast<TaskIndex>(2 * i); };
  const auto kernel = [](int i) { return static_cast<TaskIndex>(2 * i + 1); };
  for (int i = 0; i < launches; ++i) {
    const int before = (i + launches - 1) % launches, freed = (i + launches - 2) % launches;
    Add(graph, TaskKind::kCall, 10,
        {After(call(before), 0, EdgeKind::kHost, i == 0 ? 1 : 0),
         After(kernel(freed), 0, EdgeKind::kQueue, i < 2 ? 1 : 0)});
    Add(graph, TaskKind::kGpu, 100,
        {After(kernel(before), 0, EdgeKind::kStream, i == 0 ? 1 : 0),
         After(call(i), 0, EdgeKind::kLaunch)});
  }
  return graph;
}

/// Returns the source of the queue edge into a call as (kernel, cycles back); (-1, 0) if the edge
/// has no effect.
std::pair<std::int64_t, std::int64_t> QueueEdge(const EditedPlan& edited, TaskIndex task) {
  const PlanShape& shape = *edited.plan.shape;
  const std::uint32_t edge = shape.edge_begin[task] + 1;
  if (edited.plan.lag[edge] == kNoEdge) return {-1, 0};
  const auto moments = static_cast<std::int64_t>(2 * edited.plan.tasks());
  std::int64_t from = shape.from[edge], back = 0;
  for (; from < 0; from += moments) ++back;
  return {from / 2, back};
}

using Place = std::pair<std::int64_t, std::int64_t>;

TEST(QueueEdgesTest, ARemovedKernelTakesNoPlace) {
  const Graph graph = QueueOfTwo(5);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Remove(5);  // Kernel 2 and its launch.
  edit.Remove(4);
  const EditedPlan edited = edit.Finish();
  EXPECT_EQ(QueueEdge(edited, 4), (Place{-1, 0}));
  // Launch 3 waited for kernel 1 and now waits for kernel 0; launch 4 waits for kernel 1 instead of
  // 2.
  EXPECT_EQ(QueueEdge(edited, 6), (Place{1, 0}));
  EXPECT_EQ(QueueEdge(edited, 8), (Place{3, 0}));
  // Launch 0 still waits for kernel 3 of the previous cycle.
  EXPECT_EQ(QueueEdge(edited, 0), (Place{7, 1}));
}

TEST(QueueEdgesTest, FewLaunchesACycleFillTheQueueOverSeveral) {
  const Graph graph = QueueOfTwo(3);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  for (const TaskIndex gone : {2u, 3u, 4u, 5u}) edit.Remove(gone);
  const EditedPlan edited = edit.Finish();
  EXPECT_EQ(QueueEdge(edited, 0), (Place{1, 2}));
  EXPECT_EQ(edited.plan.shape->most_cycles_back, 2);
  EXPECT_DOUBLE_EQ(Replayer().Run(edited.plan).step_ns, 100);
}

TEST(QueueEdgesTest, AnInsertedKernelTakesOne) {
  const Graph graph = QueueOfTwo(4);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Insert({.before_task = 5, .before_call = 4, .duration = DurationNs(50)});
  const EditedPlan edited = edit.Finish();
  // Plan: call 0, kernel 0, call 1, kernel 1, new call, call 2, new kernel, kernel 2, call 3, ...
  // Launch 3 waited for kernel 1 and now waits for the new kernel.
  EXPECT_EQ(edited.origin[8], 6u);
  EXPECT_EQ(QueueEdge(edited, 8), (Place{6, 0}));
  // Launch 2 waited for kernel 0 and now waits for kernel 1, because the new kernel precedes its
  // own.
  EXPECT_EQ(QueueEdge(edited, 5), (Place{3, 0}));
}

TEST(QueueEdgesTest, AnEditWithoutThemChangesNothing) {
  const Graph graph = QueueOfTwo(4);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Scale(3, 0.5);
  const EditedPlan edited = edit.Finish();
  EXPECT_EQ(edited.plan.shape->from, base.shape->from);
}

}  // namespace queue_edges_test
}  // namespace headroom
