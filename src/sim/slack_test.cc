#include "sim/slack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/test_graph.h"

namespace headroom {
namespace slack_test {

TEST(SlackTest, OfAGpuBoundJobTheHostHasSomeAndTheGpuNone) {
  const Plan plan = MakePlan(TwoKernels(100));
  Replayer replayer;
  replayer.Run(plan);
  const std::vector<std::int64_t> slack = FindSlack(plan, replayer);
  EXPECT_GT(slack[0], 0);
  EXPECT_GT(slack[1], 0);
  EXPECT_EQ(slack[2], 0);
  EXPECT_EQ(slack[3], 0);
}

TEST(SlackTest, OfAHostBoundJobTheGpuHasSome) {
  const Plan plan = MakePlan(TwoKernels(1));
  Replayer replayer;
  replayer.Run(plan);
  const std::vector<std::int64_t> slack = FindSlack(plan, replayer);
  EXPECT_EQ(slack[0], 0);
  EXPECT_EQ(slack[1], 0);
  // Gaps of 12 absorb a delay, two in each later cycle. The limit is a whole cycle.
  EXPECT_EQ(slack[2], 30);
}

RC_GTEST_PROP(SlackProperty, ADelayBySlackCostsNothingAndOneByMoreDoes, ()) {
  const Graph graph = RandomGraph();
  const Plan plan = MakePlan(graph);
  Replayer replayer;
  replayer.Run(plan);
  const std::vector<std::int64_t> slack = FindSlack(plan, replayer);
  const int last = replayer.cycles() - 1, first = std::max(0, last - 2);
  const auto end_of = [&](LongestPath& path, int cycle) {
    std::int64_t end = INT64_MIN;
    for (TaskIndex task = 0; task < graph.tasks.size(); ++task)
      end = std::max(end, path.Start(task, cycle) + plan.duration[task]);
    return end;
  };
  LongestPath undisturbed(graph);
  const std::int64_t end = end_of(undisturbed, last);
  const std::int64_t cycle = last > 0 ? end - end_of(undisturbed, last - 1) : end;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    LongestPath late(graph);
    late.Delay(task, first, slack[task]);
    RC_ASSERT(end_of(late, last) == end);
    if (slack[task] == cycle) continue;  // The limit of one cycle may hide more slack.
    late.Delay(task, first, slack[task] + 1);
    RC_ASSERT(end_of(late, last) > end);
  }
}

}  // namespace slack_test
}  // namespace headroom
