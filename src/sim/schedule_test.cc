#include "sim/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "sim/critical_path.h"
#include "sim/edit.h"
#include "sim/test_graph.h"

namespace headroom {
namespace schedule_test {

TEST(ReplayTest, ShortKernelsFollowTheHost) {
  const Graph graph = TwoKernels(1);
  const Plan plan = MakePlan(graph);
  // Host-bound: two times (10 work + 5 call).
  EXPECT_DOUBLE_EQ(Replayer().Run(plan).step_ns, 30);
}

TEST(ReplayTest, LongKernelsSetThePace) {
  const Graph graph = TwoKernels(100);
  // GPU-bound: two times (100 + 2 gap); the host runs ahead.
  EXPECT_DOUBLE_EQ(Replayer().Run(MakePlan(graph)).step_ns, 204);
}

TEST(ReplayTest, MomentsOfOneCycleByHand) {
  const Graph graph = TwoKernels(100);
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(MakePlan(graph));
  // The first call starts immediately, because its work belongs to the previous cycle.
  EXPECT_EQ(std::vector<std::int64_t>(moments.begin(), moments.end()),
            (std::vector<std::int64_t>{0, 5, 15, 20, 6, 106, 108, 208}));
}

TEST(ReplayTest, AFullQueueHoldsTheHostBack) {
  const Graph graph = TwoKernels(100);
  // The queue holds one task: a launch waits for the start of the previous kernel.
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
  // The call for the next kernel begins when the previous kernel starts, not far ahead.
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

TEST(CriticalPathTest, OfAHostBoundJobNoKernelIsOnIt) {
  // The last kernel ends each cycle, but no cycle waits for it.
  const Graph graph = TwoKernels(12);
  const Plan plan = MakePlan(graph);
  Replayer replayer;
  replayer.Run(plan);
  std::int64_t sum = 0;
  for (const CriticalLink& link : FindCriticalPath(plan, replayer)) {
    EXPECT_LT(link.task, 2u);
    sum += link.ran_ns + link.spent_ns;
  }
  EXPECT_EQ(sum, 30);
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

TEST(EditTest, AClosedGapLetsATaskFollowAtOnce) {
  Graph graph = TwoKernels(100);
  graph.launch_latency = DurationNs(4);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.CloseGap(3);
  const Plan plan = edit.Finish().plan;
  EXPECT_DOUBLE_EQ(Replayer().Run(plan).step_ns, 204 - 2);
  // The launch edge has the normal latency, and the dependencies of other tasks stay unchanged.
  const std::uint32_t launch = graph.edge_begin[3] + 1;
  EXPECT_EQ(plan.lag[launch], 4);
  EXPECT_EQ(plan.lag[graph.edge_begin[2]], 2);
}

TEST(EditTest, ARemovedCallThatGetsATimeIsThereAgain) {
  const Graph graph = TwoKernels(1);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Remove(0);
  edit.SetDuration(0, DurationNs(9));
  EXPECT_EQ(edit.counts().removed, 0);
  EXPECT_FALSE(edit.Finish().removed[0]);
  EXPECT_DOUBLE_EQ(Replayer().Run(edit.Finish().plan).step_ns, 30 + 4);
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
  // The inserted kernel adds 50, plus the gap after it.
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

TEST(EditTest, APlanTellsWhereItsTasksComeFrom) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  edit.Remove(2);
  edit.Insert({.before_task = 3, .before_call = 1});
  const EditedPlan edited = edit.Finish();
  // The new launch is before the second call, the new kernel before the second kernel.
  EXPECT_EQ(edited.origin, (std::vector<TaskIndex>{0, kNoTask, 1, 2, kNoTask, 3}));
  EXPECT_EQ(edited.removed, (std::vector<bool>{false, false, false, true, false, false}));
  // If a call waits for a new kernel, the order of the tasks changes too.
  Edit waiting(graph, base);
  waiting.Insert({.before_task = 2, .before_call = 0, .waiting_call = 1});
  const EditedPlan ordered = waiting.Finish();
  std::vector<TaskIndex> old;
  for (const TaskIndex task : ordered.origin) {
    if (task != kNoTask) old.push_back(task);
  }
  std::sort(old.begin(), old.end());
  EXPECT_EQ(old, (std::vector<TaskIndex>{0, 1, 2, 3}));
}

TEST(EditTest, AnUnchangedEditReplaysTheSame) {
  const Graph graph = TwoKernels(40);
  const Plan base = MakePlan(graph);
  EXPECT_DOUBLE_EQ(Replayer().Run(Edit(graph, base).Finish().plan).step_ns,
                   Replayer().Run(base).step_ns);
}

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
  // Kernels of length 0 cost only their gaps on the stream, and no host time.
  const double before = Replayer().Run(plan).step_ns,
               after = Replayer().Run(edit.Finish().plan).step_ns;
  RC_ASSERT(after >= before);
  RC_ASSERT(after <= before + count * 1500.0);
}

}  // namespace schedule_test
}  // namespace headroom
