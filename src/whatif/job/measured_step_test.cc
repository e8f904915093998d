#include "whatif/job/measured_step.h"

#include <gtest/gtest.h>

namespace headroom {
namespace measured_step_test {

/// Returns a plan with one launch per step, after `work` ns of host time, and its kernel.
Plan PlanOf(std::int64_t work, std::int64_t kernel) {
  Graph graph;
  graph.steps = 1;
  graph.edge_begin = {0, 1, 3};
  graph.tasks.push_back({.kind = TaskKind::kCall, .step = 0, .duration = DurationNs(1'000'000)});
  graph.tasks.push_back({.kind = TaskKind::kGpu, .step = 0, .duration = DurationNs(kernel)});
  graph.edges.push_back({.from = 0, .cycles_back = 1, .lag = DurationNs(work)});
  graph.edges.push_back({.from = 1, .cycles_back = 1, .kind = EdgeKind::kStream});
  graph.edges.push_back({.from = 0, .from_end = false, .kind = EdgeKind::kLaunch});
  return MakePlan(graph);
}

TEST(MeasuredStepTest, TheHostIsTakenToTheMeasuredStep) {
  // A step has 9 ms of host work and a call of 1 ms; 7 ms were measured.
  const Result<MeasuredStep> measured = FitToMeasuredStep(PlanOf(9'000'000, 1'000'000), 7);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_TRUE(measured.value().tells);
  EXPECT_NEAR(measured.value().host_factor, 0.7, 1e-3);
}

TEST(MeasuredStepTest, AStepThatTheGpuPacesTellsNothing) {
  const Result<MeasuredStep> measured = FitToMeasuredStep(PlanOf(4'000'000, 50'000'000), 50.5);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_FALSE(measured.value().tells);
}

TEST(MeasuredStepTest, AnotherJobsStepIsRefused) {
  const Result<MeasuredStep> less = FitToMeasuredStep(PlanOf(4'000'000, 50'000'000), 40);
  ASSERT_FALSE(less.ok());
  EXPECT_EQ(less.status().code(), StatusCode::kUsage);
  EXPECT_NE(less.status().message().find("50.00 ms"), std::string::npos);
  EXPECT_FALSE(FitToMeasuredStep(PlanOf(9'000'000, 1'000'000), 40).ok());
}

}  // namespace measured_step_test
}  // namespace headroom
