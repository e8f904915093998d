#include "sim/part_replay.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>

#include "sim/test_graph.h"

namespace headroom {
namespace part_replay_test {

constexpr std::array<double, 8> kScales = {1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0};

/// Returns a part with some tasks in full, and half of some lags.
PlanPart RandomPart(const Plan& plan) {
  PlanPart part;
  for (std::uint32_t task = 0; task < plan.tasks(); ++task) {
    if (*rc::gen::arbitrary<bool>()) part.tasks.emplace_back(task, 1);
  }
  for (std::uint32_t edge = 0; edge < plan.lag.size(); ++edge) {
    if (*rc::gen::arbitrary<bool>()) part.edges.emplace_back(edge, 0.5);
  }
  return part;
}

/// Returns the scaled variant as a separate plan. Times that are multiples of 16 avoid rounding.
Plan Scaled(Plan plan, const PlanPart& part, double scale) {
  for (const auto& [task, share] : part.tasks)
    plan.duration[task] =
        std::llround(static_cast<double>(plan.duration[task]) * (1 - share * (1 - scale)));
  for (const auto& [edge, share] : part.edges)
    plan.lag[edge] = std::llround(static_cast<double>(plan.lag[edge]) * (1 - share * (1 - scale)));
  return plan;
}

Plan RandomPlan() {
  Plan plan = MakePlan(RandomGraph());
  for (std::int64_t& duration : plan.duration) duration *= 16;
  for (std::int64_t& lag : plan.lag) lag *= 16;
  return plan;
}

RC_GTEST_PROP(PartReplayProperty, EachScaleIsAReplayOfItsOwn, ()) {
  const Plan plan = RandomPlan();
  const PlanPart part = RandomPart(plan);
  PartReplayer replayer(plan);
  const std::array<double, 8> steps = replayer.Run(part, kScales);
  for (std::size_t i = 0; i < steps.size(); ++i)
    RC_ASSERT(steps[i] == Replayer().Run(Scaled(plan, part, kScales[i])).step_ns);
}

RC_GTEST_PROP(PartReplayProperty, WhatIsAppliedStays, ()) {
  const Plan plan = RandomPlan();
  const PlanPart first = RandomPart(plan), second = RandomPart(plan);
  PartReplayer replayer(plan), fresh(Scaled(plan, first, 0.5));
  replayer.Run(second, kScales);  // Has no effect on later runs.
  replayer.Apply(first, 0.5);
  RC_ASSERT(replayer.Run(second, kScales) == fresh.Run(second, kScales));
}

TEST(PartReplayTest, WhatIsNotPeriodicIsReplayedOnce) {
  Graph graph = TwoKernels(100);
  graph.periodic = false;
  const Plan plan = MakePlan(graph);
  PartReplayer replayer(plan);
  const std::array<double, 8> steps = replayer.Run({.tasks = {{3, 1}}, .edges = {}}, kScales);
  EXPECT_DOUBLE_EQ(steps.front(), 208);
  EXPECT_DOUBLE_EQ(steps.back(), 108);
  EXPECT_EQ(replayer.replays(), 8);
}

}  // namespace part_replay_test
}  // namespace headroom
