#include "answers/report/job_report.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace job_report_test {

Finding Saves(std::string id, double ms) {
  Finding finding;
  finding.id = std::move(id);
  finding.saves_ms = MsInterval{0, ms, ms};
  return finding;
}

TEST(JobReportTest, WhatActsOnTheVerdictComesFirstOfAllRanks) {
  std::vector<TraceReport> ranks(2);
  ranks[0].steps.p50 = DurationNs(10'000'000);
  ranks[0].bottleneck.verdict = Verdict::kCommunication;
  ranks[0].findings = {Saves("exposed-communication", 1)};
  ranks[1].steps.p50 = DurationNs(9'000'000);
  ranks[1].bottleneck.verdict = Verdict::kHost;
  ranks[1].findings = {Saves("late-launches", 5), Saves("data-wait", 2)};
  const auto ids = [&] {
    const JobReport job(ranks);
    std::vector<std::string> found;
    for (const RowOfFile<Finding>& finding : job.findings()) found.push_back(finding.row->id);
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(), Ids({"exposed-communication", "late-launches", "data-wait"}));
  ranks[0].findings = {Saves("exposed-communication", -1)};
  EXPECT_EQ(ids(), Ids({"late-launches", "data-wait", "exposed-communication"})) << "it slows down";
}

}  // namespace job_report_test
}  // namespace headroom
