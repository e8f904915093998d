#include "distributed/file_result.h"

#include <gtest/gtest.h>

namespace headroom {
namespace file_result_test {

TEST(FileResultTest, AReportComesBackAsItWas) {
  FileResult result;
  result.report.emplace();
  TraceReport& report = *result.report;
  report.input.path = "a.json";
  report.input.devices.emplace_back().name = "H200";
  report.health.issues.emplace_back().issue = ImportIssue::kTruncated;
  report.trace_start = TimeNs(-5);
  report.kernels.emplace_back().total = DurationNs(7);
  report.kernels.front().share_pct = 0.1;
  report.classes.emplace_back().family = WorkFamily::kElementwise;
  report.throughput.emplace().samples_per_s = 1.0 / 3;
  result.timeline.emplace().collectives.emplace_back().bytes = 4.5;
  RowCall& call = result.calls.emplace().slowest.emplace_back();
  call.id = 3;
  call.step_index = 9;
  const FileResult back = UnpackResults(PackResults({result})).front();
  EXPECT_TRUE(back.status.ok());
  EXPECT_EQ(back.calls->slowest.front().id, 3);
  EXPECT_EQ(back.calls->slowest.front().step_index, 9);
  EXPECT_EQ(back.report->input.path, "a.json");
  EXPECT_EQ(back.report->input.devices.front().name, "H200");
  EXPECT_FALSE(back.report->input.devices.front().sms.has_value());
  EXPECT_EQ(back.report->health.issues.front().issue, ImportIssue::kTruncated);
  EXPECT_EQ(back.report->trace_start, TimeNs(-5));
  EXPECT_EQ(back.report->kernels.front().total, DurationNs(7));
  EXPECT_EQ(back.report->kernels.front().share_pct, 0.1);
  EXPECT_EQ(back.report->classes.front().family, WorkFamily::kElementwise);
  EXPECT_EQ(back.report->throughput->samples_per_s, 1.0 / 3);
  EXPECT_FALSE(back.report->breakdown.has_value());
  EXPECT_EQ(back.timeline->collectives.front().bytes, 4.5);
  EXPECT_FALSE(back.timeline->rank.has_value());
}

// Steps is the only struct whose members the compiler does not check.
TEST(FileResultTest, EveryMemberOfSteps) {
  FileResult result;
  result.report.emplace();
  Steps& steps = result.report->steps;
  steps.p50 = DurationNs(1);
  steps.mean = DurationNs(2);
  steps.min = DurationNs(3);
  steps.max = DurationNs(4);
  steps.source = StepSource::kGiven;
  steps.confidence = "high";
  steps.confidence_reason = "even";
  steps.marker = "step";
  steps.optimizer_every = 2;
  steps.step_time = DurationNs(11);
  steps.process = ProcessId(5u);
  steps.list.emplace_back().index = 6;
  steps.tasks_before_first = 7;
  steps.tasks_outside = 8;
  steps.corrected_p50 = DurationNs(9);
  steps.profiler_overhead_pct = 10;
  const Steps back = UnpackResults(PackResults({result})).front().report->steps;
  EXPECT_EQ(back.p50, steps.p50);
  EXPECT_EQ(back.mean, steps.mean);
  EXPECT_EQ(back.min, steps.min);
  EXPECT_EQ(back.max, steps.max);
  EXPECT_EQ(back.source, steps.source);
  EXPECT_EQ(back.confidence, steps.confidence);
  EXPECT_EQ(back.confidence_reason, steps.confidence_reason);
  EXPECT_EQ(back.marker, steps.marker);
  EXPECT_EQ(back.optimizer_every, steps.optimizer_every);
  EXPECT_EQ(back.step_time, steps.step_time);
  EXPECT_EQ(back.process, steps.process);
  EXPECT_EQ(back.list.front().index, 6);
  EXPECT_EQ(back.tasks_before_first, steps.tasks_before_first);
  EXPECT_EQ(back.tasks_outside, steps.tasks_outside);
  EXPECT_EQ(back.corrected_p50, steps.corrected_p50);
  EXPECT_EQ(back.profiler_overhead_pct, steps.profiler_overhead_pct);
}

TEST(FileResultTest, AFailureKeepsItsWords) {
  FileResult result;
  result.status = Status::BadInput("b.json: not a trace");
  const FileResult back = UnpackResults(PackResults({FileResult(), result})).back();
  EXPECT_EQ(back.status.code(), StatusCode::kBadInput);
  EXPECT_EQ(back.status.message(), "b.json: not a trace");
  EXPECT_FALSE(back.report.has_value());
  EXPECT_FALSE(back.timeline.has_value());
}

}  // namespace file_result_test
}  // namespace headroom
