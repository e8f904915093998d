#include "answers/report/summary.h"

#include <gtest/gtest.h>

#include <vector>

#include "answers/report/report_fixture.h"

namespace headroom {
namespace {

Summary Of(const std::vector<TraceReport>& files) { return SummaryOf(JobReport(files), {}); }

TEST(Summary, PhasesSumToTheStepAndTheGpuWorksInNoMoreThanThat) {
  const std::vector<TraceReport> files = {DemoReport()};
  const Summary summary = Of(files);
  EXPECT_EQ(summary.parts_of, PartsOf::kStep);
  double sum = 0;
  for (const SummaryPart& part : summary.parts) {
    EXPECT_GT(part.share_pct, 0) << part.name;
    EXPECT_LE(part.busy_pct, part.share_pct) << part.name;
    sum += part.share_pct;
  }
  EXPECT_NEAR(sum, 100, 1e-9);
}

TEST(Summary, WithoutPhasesTheClassesOfGpuWorkAreTheParts) {
  std::vector<TraceReport> files = {DemoReport()};
  BreakdownParts only_other;
  only_other.other = files[0].breakdown->wall;
  files[0].breakdown->step = only_other;
  const Summary summary = Of(files);
  EXPECT_EQ(summary.parts_of, PartsOf::kGpuTime);
  ASSERT_EQ(summary.parts.size(), files[0].classes.size());
  EXPECT_EQ(summary.parts[0].name, files[0].classes[0].name);
}

TEST(Summary, ASpeedupIsOfTheStepWithoutTheProfiler) {
  const std::vector<TraceReport> files = {DemoReport()};
  const Summary summary = Of(files);
  ASSERT_FALSE(summary.actions.empty());
  EXPECT_TRUE(summary.no_action.empty());
  for (const SummaryAction& action : summary.actions) {
    ASSERT_FALSE(action.command.empty());
    EXPECT_EQ(action.command[0], "headroom");
    if (!action.speedup) continue;
    const double after = summary.step_ms->mid - action.finding->saves_ms->mid;
    EXPECT_DOUBLE_EQ(*action.speedup, summary.step_ms->mid / after);
  }
}

TEST(Summary, OfAnUncertainStepAnUpperBoundPromisesNoSpeedup) {
  std::vector<TraceReport> files = {DemoReport()};
  files[0].findings.resize(1);
  files[0].findings[0].saves_note = "at most: the cause is removed";
  ASSERT_TRUE(Of(files).actions.at(0).speedup);
  ASSERT_TRUE(files[0].engine && files[0].engine->corrected_step_ms);
  files[0].engine->corrected_step_ms->high = 3 * files[0].engine->corrected_step_ms->mid;
  const Summary summary = Of(files);
  EXPECT_TRUE(summary.actions.at(0).upper_bound);
  EXPECT_FALSE(summary.actions.at(0).speedup);
}

TEST(Summary, WithoutGpuWorkAndStepsNothingIsClaimed) {
  const std::vector<TraceReport> files = {BareReport()};
  const Summary summary = Of(files);
  EXPECT_FALSE(summary.step_ms);
  EXPECT_FALSE(summary.gpu_busy);
  EXPECT_FALSE(summary.samples_per_s);
  EXPECT_TRUE(summary.parts.empty());
  EXPECT_TRUE(summary.actions.empty());
  EXPECT_NE(summary.note, "");
}

}  // namespace
}  // namespace headroom
