#include "sim/event_loop.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/critical_path.h"
#include "sim/edit.h"
#include "sim/schedule.h"
#include "sim/test_graph.h"

namespace headroom {
namespace event_loop_test {

/// Two kernels of 10 ns without host work. Tests add two sends on a channel between them.
struct TwoSends {
  explicit TwoSends(Policy policy) {
    Add(graph, TaskKind::kGpu, 10, {After(1, 0, EdgeKind::kStream, 1)});
    Add(graph, TaskKind::kGpu, 10, {After(0, 0, EdgeKind::kStream)});
    base = MakePlan(graph);
    channel = Channel{.name = "network", .policy = policy};
  }
  Graph graph;
  Plan base;
  Channel channel;
};

TEST(EventLoopTest, AChannelRunsOneTaskAtATimeInOrderOfReadiness) {
  const TwoSends job(Policy::kFifo);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  edit.Insert(
      {.channel = network, .duration = DurationNs(30), .after = {{.task = 0}}, .before = {}});
  edit.Insert({.channel = network,
               .duration = DurationNs(5),
               .after = {{.task = 0}},
               .before = {{.task = 1}}});
  // The first kernel ends at 10. The sends run from 10 to 40 and from 40 to 45, and the second
  // kernel follows at 45.
  const Plan plan = edit.Finish().plan;
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(plan);
  EXPECT_EQ(*std::max_element(moments.begin(), moments.end()), 55);
}

TEST(EventLoopTest, PriorityLetsTheUrgentGoFirst) {
  const TwoSends job(Policy::kPriority);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  edit.Insert(
      {.channel = network, .duration = DurationNs(30), .priority = 2, .after = {{.task = 0}}});
  edit.Insert({.channel = network,
               .duration = DurationNs(5),
               .priority = 1,
               .after = {{.task = 0}},
               .before = {{.task = 1}}});
  // The urgent send runs from 10 to 15, the other until 45; the second kernel runs from 15 to 25.
  Replayer replayer;
  std::span<const std::int64_t> moments = replayer.RunOnce(edit.Finish().plan);
  EXPECT_EQ(*std::max_element(moments.begin(), moments.end()), 45);
  // Only rescheduling changes: the same tasks run in order of arrival.
  edit.Reschedule(network, Policy::kFifo);
  moments = replayer.RunOnce(edit.Finish().plan);
  EXPECT_EQ(*std::max_element(moments.begin(), moments.end()), 55);
}

TEST(EventLoopTest, WhatBeganIsNotBrokenOff) {
  const TwoSends job(Policy::kPriority);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  // This send becomes ready at 0, before the urgent send.
  edit.Insert({.channel = network, .duration = DurationNs(30), .priority = 2});
  edit.Insert({.channel = network,
               .duration = DurationNs(5),
               .priority = 1,
               .after = {{.task = 0}},
               .before = {{.task = 1}}});
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(edit.Finish().plan);
  EXPECT_EQ(*std::max_element(moments.begin(), moments.end()), 45);
}

TEST(EventLoopTest, TheSteadyStateIsWhatTheChannelTakesWhereItIsBusiest) {
  const TwoSends job(Policy::kFifo);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  // Per cycle, both kernels take 20 and the sends 35. The next cycle's first kernel waits for the
  // second send.
  edit.Insert(
      {.channel = network, .duration = DurationNs(30), .after = {{.task = 0}}, .before = {}});
  edit.Insert({.channel = network,
               .duration = DurationNs(5),
               .after = {{.task = 0}},
               .before = {{.task = 0, .cycles = 1}}});
  // A cycle is: kernel 10, send 30, send 5.
  EXPECT_DOUBLE_EQ(Replayer().Run(edit.Finish().plan).step_ns, 45);
}

TEST(EventLoopTest, TheCriticalPathGoesThroughTheTaskThatHeldTheChannel) {
  const TwoSends job(Policy::kFifo);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  edit.Insert(
      {.channel = network, .duration = DurationNs(30), .after = {{.task = 0}}, .before = {}});
  edit.Insert({.channel = network,
               .duration = DurationNs(5),
               .after = {{.task = 0}},
               .before = {{.task = 1}}});
  const Plan plan = edit.Finish().plan;
  Replayer replayer;
  replayer.RunOnce(plan);
  std::int64_t sum = 0, held = 0;
  for (const CriticalLink& link : FindCriticalPath(plan, replayer)) {
    sum += link.ran_ns + (link.edge == kNoCriticalEdge ? 0 : link.spent_ns);
    held += link.edge == kNoCriticalEdge ? 1 : 0;
  }
  EXPECT_EQ(sum, 55);
  EXPECT_EQ(held, 1);
}

TEST(EventLoopTest, WhatIsInsertedInFrontGoesBeforeWhatWasThere) {
  // Two launches of 5 with 10 of work before each, and two consecutive kernels of 100.
  const Graph graph = TwoKernels(100);
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  EXPECT_EQ(edit.FrontOf(3), 3u);
  const TaskIndex reads = edit.Insert(
      Edit::NewKernel{.before_task = 3, .before_call = 1, .duration = DurationNs(1000)});
  EXPECT_EQ(edit.FrontOf(3), reads);
  EXPECT_EQ(edit.InFrontOf(reads), 3u);
  const TaskIndex packs = edit.Insert(Edit::NewKernel{
      .before_task = 3, .before_call = 1, .duration = DurationNs(300), .in_front = true});
  EXPECT_EQ(edit.FrontOf(3), packs);
  edit.Insert({.channel = edit.AddChannel({.name = "network"}),
               .duration = DurationNs(5000),
               .after = {{.task = packs}},
               .before = {{.task = reads}}});
  // The first kernel ends at 6 + 100, and a gap of 1500 follows. The data is packed by 1906, sent
  // by 6906, and read by 7906. The last kernel starts 2 later.
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(edit.Finish().plan);
  EXPECT_EQ(*std::max_element(moments.begin(), moments.end()), 7906 + 2 + 100);
}

TEST(EventLoopTest, AClearedChannelLeavesNothingBehind) {
  const TwoSends job(Policy::kFifo);
  Edit edit(job.graph, job.base);
  const std::uint32_t network = edit.AddChannel(job.channel);
  edit.Insert({.channel = network,
               .duration = DurationNs(30),
               .after = {{.task = 0}},
               .before = {{.task = 1}}});
  EXPECT_EQ(edit.counts().inserted, 1);
  EXPECT_EQ(edit.Clear(network).size(), 1u);
  EXPECT_EQ(edit.counts().inserted, 0);
  EXPECT_DOUBLE_EQ(Replayer().Run(edit.Finish().plan).step_ns, 20);
}

/// Returns every moment from the event loop.
std::vector<std::int64_t> ByEvents(const Plan& plan, int cycles) {
  const std::size_t before =
      static_cast<std::size_t>(plan.shape->most_cycles_back) * 2 * plan.tasks();
  std::vector<std::int64_t> moments(before + static_cast<std::size_t>(cycles) * 2 * plan.tasks(),
                                    INT64_MIN / 4);
  EventLoop().Run(plan, cycles, moments.data() + before);
  moments.erase(moments.begin(), moments.begin() + static_cast<std::ptrdiff_t>(before));
  return moments;
}

RC_GTEST_PROP(EventLoopProperty, WithoutChannelsItIsTheLongestPath, ()) {
  const Graph graph = RandomGraph();
  Plan plan = MakePlan(graph);
  // Disables some edges.
  for (std::int64_t& lag : plan.lag) {
    if (*rc::gen::inRange(0, 5) == 0) lag = kNoEdge;
  }
  Replayer replayer;
  replayer.Run(plan);
  const std::vector<std::int64_t> moments = ByEvents(plan, replayer.cycles());
  const std::int64_t* const expected = replayer.Cycle(plan, 0);
  for (std::size_t moment = 0; moment < moments.size(); ++moment)
    RC_ASSERT(moments[moment] == expected[moment]);
}

/// A slow reference: a clock that ticks every nanosecond and checks every task at each tick.
std::vector<std::int64_t> ByClock(const Plan& plan, int cycles) {
  const PlanShape& shape = *plan.shape;
  const auto tasks = static_cast<std::int64_t>(plan.tasks());
  std::vector<std::optional<std::int64_t>> starts(static_cast<std::size_t>(cycles * tasks));
  std::vector<std::int64_t> free_at(shape.channels.size());
  const auto ready_at = [&](std::int64_t instance) -> std::optional<std::int64_t> {
    std::int64_t ready = 0;
    const auto task = static_cast<std::size_t>(instance % tasks);
    for (std::uint32_t e = shape.edge_begin[task]; e < shape.edge_begin[task + 1]; ++e) {
      const std::int64_t moment = instance / tasks * 2 * tasks + shape.from[e];
      if (moment < 0) continue;
      const auto from = static_cast<std::size_t>(moment / 2);
      if (!starts[from]) return std::nullopt;
      const std::int64_t end = moment % 2 == 0 ? 0 : plan.duration[from % plan.tasks()];
      ready = std::max(ready, *starts[from] + end + plan.lag[e]);
    }
    return ready;
  };
  std::size_t left = starts.size();
  for (std::int64_t now = 0; left > 0; ++now) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::optional<std::int64_t> ready = ready_at(static_cast<std::int64_t>(i));
        if (starts[i] || shape.channel[i % plan.tasks()] != kNoChannel || ready != now) continue;
        starts[i] = now;
        --left;
        changed = true;
      }
      for (std::size_t c = 0; c < shape.channels.size() && !changed; ++c) {
        std::optional<std::size_t> best;
        const auto key = [&](std::size_t i) {
          const std::int64_t priority =
              shape.channels[c] == Policy::kFifo ? 0 : shape.priority[i % plan.tasks()];
          return std::tuple(priority, *ready_at(static_cast<std::int64_t>(i)), i);
        };
        for (std::size_t i = 0; i < starts.size(); ++i) {
          if (starts[i] || shape.channel[i % plan.tasks()] != static_cast<std::int32_t>(c))
            continue;
          const std::optional<std::int64_t> ready = ready_at(static_cast<std::int64_t>(i));
          if (!ready || *ready > now || free_at[c] > now) continue;
          if (!best || key(i) < key(*best)) best = i;
        }
        if (!best) continue;
        starts[*best] = now;
        free_at[c] = now + plan.duration[*best % plan.tasks()];
        --left;
        changed = true;
      }
    }
  }
  std::vector<std::int64_t> moments;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    moments.push_back(*starts[i]);
    moments.push_back(*starts[i] + plan.duration[i % plan.tasks()]);
  }
  return moments;
}

RC_GTEST_PROP(EventLoopProperty, AgreesWithAClockThatTicks, ()) {
  // Lags are not negative here, so no decision can be too early.
  Graph graph;
  const int kernels = *rc::gen::inRange(2, 8);
  for (int t = 0; t < kernels; ++t) {
    const int from = t == 0 ? kernels - 1 : t - 1;
    Add(graph, TaskKind::kGpu, *rc::gen::inRange(0, 15),
        {After(static_cast<TaskIndex>(from), *rc::gen::inRange(0, 4), EdgeKind::kStream, t == 0)});
  }
  const Plan base = MakePlan(graph);
  Edit edit(graph, base);
  const std::uint32_t channels[] = {
      edit.AddChannel({.name = "a", .policy = Policy::kPriority}),
      edit.AddChannel({.name = "b", .policy = Policy::kFifo}),
  };
  const int sends = *rc::gen::inRange(1, 8);
  for (int s = 0; s < sends; ++s) {
    const int after = *rc::gen::inRange(0, kernels - 1);
    const int before = *rc::gen::inRange(0, kernels);
    edit.Insert({.channel = channels[*rc::gen::inRange(0, 2)],
                 .duration = DurationNs(*rc::gen::inRange(1, 20)),
                 .priority = *rc::gen::inRange(0, 3),
                 .after = {{.task = static_cast<TaskIndex>(after),
                            .lag = DurationNs(*rc::gen::inRange(0, 3))}},
                 .before = {{.task = static_cast<TaskIndex>(before),
                             .cycles = static_cast<std::uint8_t>(before <= after ? 1 : 0)}}});
  }
  const Plan plan = edit.Finish().plan;
  RC_ASSERT(ByEvents(plan, 3) == ByClock(plan, 3));
}

}  // namespace event_loop_test
}  // namespace headroom
