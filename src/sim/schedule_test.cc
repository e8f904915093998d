#include "sim/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "sim/critical_path.h"
#include "sim/edit.h"

namespace headroom {
namespace {

/// Adds a task with its edges; times in nanoseconds.
TaskIndex Add(Graph& graph, TaskKind kind, std::int64_t duration, std::vector<Edge> edges) {
  if (graph.edge_begin.empty()) graph.edge_begin.push_back(0);
  graph.steps = 1;
  graph.tasks.push_back({.kind = kind, .step = 0, .duration = DurationNs(duration)});
  graph.edges.insert(graph.edges.end(), edges.begin(), edges.end());
  graph.edge_begin.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  return static_cast<TaskIndex>(graph.tasks.size() - 1);
}

Edge After(TaskIndex from, std::int64_t lag, EdgeKind kind, std::uint8_t back = 0) {
  return {.from = from,
          .from_end = kind != EdgeKind::kLaunch && kind != EdgeKind::kQueue,
          .cycles_back = back,
          .kind = kind,
          .lag = DurationNs(lag)};
}

/// Two launches and two kernels a cycle: call, 10 of work, call; kernels of `kernel` each.
Graph TwoKernels(std::int64_t kernel) {
  Graph graph;
  Add(graph, TaskKind::kCall, 5, {After(1, 10, EdgeKind::kHost, 1)});
  Add(graph, TaskKind::kCall, 5, {After(0, 10, EdgeKind::kHost)});
  Add(graph, TaskKind::kGpu, kernel,
      {After(3, 2, EdgeKind::kStream, 1), After(0, 6, EdgeKind::kLaunch)});
  Add(graph, TaskKind::kGpu, kernel,
      {After(2, 2, EdgeKind::kStream), After(1, 6, EdgeKind::kLaunch)});
  return graph;
}

TEST(ReplayTest, ShortKernelsFollowTheHost) {
  const Graph graph = TwoKernels(1);
  const Plan plan = MakePlan(graph);
  // Host: two times (10 work + 5 call).
  EXPECT_DOUBLE_EQ(Replayer().Run(plan).step_ns, 30);
}

TEST(ReplayTest, LongKernelsSetThePace) {
  const Graph graph = TwoKernels(100);
  // GPU: two times (100 + 2 gap); the host runs ahead.
  EXPECT_DOUBLE_EQ(Replayer().Run(MakePlan(graph)).step_ns, 204);
}

TEST(ReplayTest, MomentsOfOneCycleByHand) {
  const Graph graph = TwoKernels(100);
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(MakePlan(graph));
  // Nothing comes before the first call; its work is of the cycle before.
  EXPECT_EQ(std::vector<std::int64_t>(moments.begin(), moments.end()),
            (std::vector<std::int64_t>{0, 5, 15, 20, 6, 106, 108, 208}));
}

TEST(ReplayTest, AFullQueueHoldsTheHostBack) {
  const Graph graph = TwoKernels(100);
  // The queue takes one task: a launch waits for the start of the kernel before.
  Graph queued;
  Add(queued, TaskKind::kCall, 5,
      {After(2, 10, EdgeKind::kHost, 1), After(3, 0, EdgeKind::kQueue, 1)});
  Add(queued, TaskKind::kGpu, 100,
      {After(3, 2, EdgeKind::kStream, 1), After(0, 6, EdgeKind::kLaunch)});
  Add(queued, TaskKind::kCall, 5, {After(0, 10, EdgeKind::kHost), After(1, 0, EdgeKind::kQueue)});
  Add(queued, TaskKind::kGpu, 100,
      {After(1, 2, EdgeKind::kStream), After(2, 6, EdgeKind::kLaunch)});
  const Plan plan = MakePlan(queued);
  Replayer replayer;
  EXPECT_DOUBLE_EQ(replayer.Run(plan).step_ns, Replayer().Run(MakePlan(graph)).step_ns);
  // The call of the next kernel begins when the one before it starts, not long ahead.
  const std::int64_t* last = replayer.Cycle(plan, replayer.cycles() - 1);
  EXPECT_EQ(last[2 * 2], last[2 * 1]);
}

TEST(CriticalPathTest, FollowsWhatSetsThePace) {
  const Graph graph = TwoKernels(100);
  const Plan plan = MakePlan(graph);
  Replayer replayer;
  replayer.Run(plan);
  const std::vector<CriticalLink> path = FindCriticalPath(plan, replayer);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].task, 2u);
  EXPECT_EQ(path[1].task, 3u);
  std::int64_t sum = 0;
  for (const CriticalLink& link : path) sum += link.ran_ns + link.spent_ns;
  EXPECT_EQ(sum, 204);
}

TEST(EditTest, ARemovedKernelLetsTheNextFollowTheOneBefore) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Remove(2);
  edit.Remove(0);
  EXPECT_EQ(edit.counts().removed, 2);
  EXPECT_DOUBLE_EQ(Replayer().Run(edit.Finish().plan).step_ns, 102);
}

TEST(EditTest, AnInsertedKernelTakesItsTimeOnTheStreamAndOnTheHost) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Insert({.before_task = 3,
               .before_call = 1,
               .duration = DurationNs(50),
               .host_work = DurationNs(7),
               .launch = DurationNs(3)});
  // 50 more, and the gap behind it.
  EXPECT_DOUBLE_EQ(Replayer().Run(edit.Finish().plan).step_ns, 204 + 50 + 1500);
  const Graph fast = TwoKernels(1);
  const Plan fast_base = MakePlan(fast);
  Edit host(fast, fast_base);
  host.Insert({.before_task = 3,
               .before_call = 1,
               .duration = DurationNs(0),
               .host_work = DurationNs(2000),
               .launch = DurationNs(3)});
  EXPECT_DOUBLE_EQ(Replayer().Run(host.Finish().plan).step_ns, 30 + 2000 + 3);
}

TEST(EditTest, AnUnchangedEditReplaysTheSame) {
  const Graph graph = TwoKernels(40);
  const Plan base = MakePlan(graph);
  EXPECT_DOUBLE_EQ(Replayer().Run(Edit(graph, base).Finish().plan).step_ns,
                   Replayer().Run(base).step_ns);
}

/// A random graph: any edges forward, some around the cycle.
Graph RandomGraph() {
  Graph graph;
  const int tasks = *rc::gen::inRange(1, 12);
  for (int t = 0; t < tasks; ++t) {
    std::vector<Edge> edges;
    // Its track, so that every task follows something.
    edges.push_back(t == 0 ? After(static_cast<TaskIndex>(tasks - 1), *rc::gen::inRange(0, 20),
                                   EdgeKind::kStream, 1)
                           : After(static_cast<TaskIndex>(t - 1), *rc::gen::inRange(-3, 20),
                                   EdgeKind::kStream));
    for (int more = *rc::gen::inRange(0, 3); more > 0; --more) {
      const bool back = t == 0 || *rc::gen::arbitrary<bool>();
      const int from = back ? *rc::gen::inRange(0, tasks) : *rc::gen::inRange(0, t);
      edges.push_back(After(static_cast<TaskIndex>(from), *rc::gen::inRange(-10, 60),
                            *rc::gen::arbitrary<bool>() ? EdgeKind::kLaunch : EdgeKind::kSync,
                            back ? static_cast<std::uint8_t>(*rc::gen::inRange(1, 3)) : 0));
    }
    Add(graph, TaskKind::kGpu, *rc::gen::inRange(0, 50), edges);
  }
  return graph;
}

/// The slow, obvious answer: the longest path into a moment, asked backwards.
class LongestPath {
 public:
  explicit LongestPath(const Graph& graph) : graph_(graph) {}

  std::int64_t Start(TaskIndex task, int cycle) {
    if (cycle < 0) return INT64_MIN / 4;
    const auto known = known_.find({task, cycle});
    if (known != known_.end()) return known->second;
    std::int64_t start = 0;
    for (std::uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph_.edges[e];
      std::int64_t from = Start(edge.from, cycle - edge.cycles_back);
      if (edge.from_end && cycle >= edge.cycles_back) from += graph_.tasks[edge.from].duration.ns();
      start = std::max(start, from + edge.lag.ns());
    }
    return known_[{task, cycle}] = start;
  }

 private:
  const Graph& graph_;
  std::map<std::pair<TaskIndex, int>, std::int64_t> known_;
};

RC_GTEST_PROP(ReplayProperty, AgreesWithTheLongestPath, ()) {
  const Graph graph = RandomGraph();
  const Plan plan = MakePlan(graph);
  Replayer replayer;
  replayer.Run(plan);
  LongestPath slow(graph);
  for (int cycle = 0; cycle < replayer.cycles(); ++cycle) {
    for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
      RC_ASSERT(replayer.Cycle(plan, cycle)[2 * task] == slow.Start(task, cycle));
    }
  }
}

RC_GTEST_PROP(ReplayProperty, ShorterTasksNeverTakeLonger, ()) {
  const Graph graph = RandomGraph();
  const Plan plan = MakePlan(graph);
  Edit edit(graph, plan);
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (*rc::gen::arbitrary<bool>()) edit.Scale(task, 0.5);
  }
  const Plan shorter = edit.Finish().plan;
  Replayer a, b;
  const std::span<const std::int64_t> before = a.RunOnce(plan), after = b.RunOnce(shorter);
  for (std::size_t moment = 0; moment < before.size(); ++moment)
    RC_ASSERT(after[moment] <= before[moment]);
}

RC_GTEST_PROP(ReplayProperty, AnEdgeThatIsGoneNeverMakesItLonger, ()) {
  const Graph graph = RandomGraph();
  const Plan plan = MakePlan(graph);
  Plan fewer = plan;
  fewer.lag[static_cast<std::size_t>(
      *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(fewer.lag.size())))] = kNoEdge;
  Replayer a, b;
  const std::span<const std::int64_t> before = a.RunOnce(plan), after = b.RunOnce(fewer);
  for (std::size_t moment = 0; moment < before.size(); ++moment)
    RC_ASSERT(after[moment] <= before[moment]);
}

RC_GTEST_PROP(EditProperty, InsertingNothingLongChangesNoOrder, ()) {
  const Graph graph = TwoKernels(*rc::gen::inRange(1, 5000));
  const Plan plan = MakePlan(graph);
  Edit edit(graph, plan);
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) edit.Insert({.before_task = 2, .before_call = 0});
  // Kernels of no length cost their gaps on the stream, and nothing on the host.
  const double before = Replayer().Run(plan).step_ns,
               after = Replayer().Run(edit.Finish().plan).step_ns;
  RC_ASSERT(after >= before);
  RC_ASSERT(after <= before + count * 1500.0);
}

}  // namespace
}  // namespace headroom
