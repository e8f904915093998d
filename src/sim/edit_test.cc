#include "sim/edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule.h"
#include "sim/test_graph.h"

namespace headroom {
namespace edit_test {

TEST(EditTest, ThePlanTellsTheNumbersOfItsTasks) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  // The calls are tasks 0 and 1; their kernels are tasks 2 and 3.
  const TaskIndex kernel = edit.Insert({.before_task = 3, .before_call = 1});
  EXPECT_EQ(kernel, 4u);
  EXPECT_EQ(edit.Finish().number, (std::vector<TaskIndex>{0, kNoTask, 1, 2, kernel, 3}));
  // A transfer runs after the first kernel, and the second kernel waits for it, so it goes between
  // them.
  const std::uint32_t network = edit.AddChannel({.name = "network"});
  const TaskIndex transfer =
      edit.Insert({.channel = network, .after = {{.task = 2}}, .before = {{.task = 3}}});
  const EditedPlan edited = edit.Finish();
  const std::vector<TaskIndex>& number = edited.number;
  const auto place = [&](TaskIndex task) {
    return std::find(number.begin(), number.end(), task) - number.begin();
  };
  EXPECT_LT(place(2), place(transfer));
  EXPECT_LT(place(transfer), place(3));
  EXPECT_EQ(edited.channels, std::vector<std::string>{"network"});
  for (TaskIndex task = 0; task < number.size(); ++task)
    EXPECT_EQ(edited.OnChannel(task), number[task] == transfer);
  EXPECT_EQ(edit.Present(), std::vector<bool>(6, true));
  edit.Clear(network);
  EXPECT_EQ(edit.Present(), (std::vector<bool>{true, true, true, true, true, false}));
}

TEST(EditTest, KernelsThatNothingWaitsForCanBeWithdrawn) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  const TaskIndex first = edit.Insert({.before_task = 2, .before_call = 0});
  const TaskIndex free = edit.Insert({.before_task = 3, .before_call = 1});
  const TaskIndex needed = edit.Insert({.before_task = 3, .before_call = 1});
  const std::uint32_t network = edit.AddChannel({.name = "network"});
  edit.Insert({.channel = network, .after = {{.task = needed}}});
  edit.Withdraw([](TaskIndex before) { return before == 3; });
  ASSERT_EQ(edit.inserted().size(), 2u);
  EXPECT_EQ(edit.inserted()[0].number, first);
  EXPECT_EQ(edit.inserted()[1].number, needed);
  EXPECT_EQ(edit.counts().inserted, 3);
  const std::vector<TaskIndex> numbers = edit.Finish().number;
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), free), 0);
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), needed), 1);
}

TEST(EditTest, AWaitWithoutARecordScalesAndALatencyDoesNot) {
  Graph graph = TwoKernels(100);
  constexpr std::int64_t kWait = 61'600'000;
  // The second kernel's launch edge: 61.6 ms, of which its call takes 5 ns. The first one's is a
  // latency.
  graph.edges.back().lag = DurationNs(kWait);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  for (const TaskIndex kernel : {2u, 3u}) edit.ScaleUnrecordedWaits(kernel, 0);
  const Plan plan = edit.Finish().plan;
  EXPECT_EQ(plan.lag.back(), 5);
  EXPECT_EQ(plan.lag[graph.edge_begin[2] + 1], 6);
  EXPECT_EQ(UnrecordedWaitOf(graph, static_cast<std::uint32_t>(graph.edges.size() - 1)).ns(),
            kWait - 5);
}

TEST(EditTest, WhatWaitsForItselfHasNoPlan) {
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  // The tasks form a cycle. The second call waits for a new kernel, and that kernel waits for the
  // second call's transfer.
  const std::uint32_t network = edit.AddChannel({.name = "network"});
  const TaskIndex transfer = edit.Insert({.channel = network, .after = {{.task = 1}}});
  EXPECT_TRUE(edit.TryFinish());
  edit.Insert(
      {.before_task = 3, .before_call = 1, .waiting_call = 1, .after = {{.task = transfer}}});
  EXPECT_FALSE(edit.TryFinish());
}

}  // namespace edit_test
}  // namespace headroom
