#include "export/openmetrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace openmetrics_test {

TraceReport OneStep(std::int64_t rank) {
  TraceReport report;
  report.input.rank = rank;
  StepRow step;
  step.wall = DurationNs(1'250'000'001);
  step.gpu_busy = DurationNs(625'000'000);
  report.steps.list = {step};
  report.steps.p50 = step.wall;
  report.efficiency.mfu_pct = 25;
  return report;
}

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(OpenMetrics, FamiliesAreWholeAndRanksAreLabels) {
  const std::vector<TraceReport> files = {OneStep(0), OneStep(1)};
  const std::string text = OpenMetricsText(files);
  EXPECT_TRUE(Has(text,
                  "headroom_step_seconds{rank=\"0\",stat=\"p50\"} 1.250000001\n"
                  "headroom_step_seconds{rank=\"1\",stat=\"p50\"} 1.250000001"))
      << text;
  EXPECT_TRUE(Has(text, "headroom_mfu_ratio{rank=\"0\"} 0.25")) << text;
  EXPECT_TRUE(Has(text, "# TYPE headroom_step_seconds gauge")) << text;
  EXPECT_TRUE(Has(text, "# UNIT headroom_step_seconds seconds")) << text;
  EXPECT_EQ(text.find("# TYPE headroom_mfu_ratio"), text.rfind("# TYPE headroom_mfu_ratio"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(OpenMetrics, WhatIsNotKnownIsLeftOut) {
  const TraceReport nothing;
  EXPECT_EQ(OpenMetricsText({&nothing, 1}),
            "# TYPE headroom_steps gauge\n# HELP headroom_steps Steps in the trace.\n"
            "headroom_steps 0\n# EOF\n");
}

TEST(OpenMetrics, BusyCountsWholeStepsAlone) {
  TraceReport report = OneStep(0);
  StepRow lost = report.steps.list.front();
  lost.lost_tasks = true;
  lost.gpu_busy = DurationNs(0);
  report.steps.list.push_back(lost);
  const std::string text = OpenMetricsText({&report, 1});
  const std::size_t at = text.find("headroom_step_gpu_busy_ratio{");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NEAR(std::stod(text.substr(text.find(' ', at))), 0.5, 1e-8);
}

TEST(OpenMetrics, LabelsAreEscaped) {
  TraceReport report;
  Finding finding;
  finding.id = "a\"b\\c\nd";
  finding.share_pct = 50;
  report.findings = {finding};
  EXPECT_TRUE(
      Has(OpenMetricsText({&report, 1}), R"(headroom_finding_share_ratio{id="a\"b\\c\nd"} 0.5)"));
}

}  // namespace openmetrics_test
}  // namespace headroom
