#include "answers/report/rank_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "answers/report/rank_findings.h"
#include "ranks/rank_of_file.h"

namespace headroom {
namespace {

void AddIssue(ImportIssue issue, const std::vector<std::string>& names, JobRanks& job) {
  if (names.empty()) return;
  constexpr std::size_t kMaxShown = 5;
  const std::size_t shown = std::min(kMaxShown, names.size());
  std::string which = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < names.size()) which += fmt::format("; and {} more", names.size() - shown);
  job.issues.push_back({issue, static_cast<std::int64_t>(names.size()), std::move(which)});
}

}  // namespace

Result<JobRanks> CompareFiles(std::vector<TraceReport>& files, std::vector<RankTimeline> timelines,
                              const LeftOutFiles& left_out) {
  if (Status status = AssignRanks(files); !status.ok()) return status;
  JobRanks job;
  if (files.size() > 1) {
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      timelines[i].rank = files[i].input.rank;
      timelines[i].host = HostOfFileName(timelines[i].path);
    }
    job = AnalyzeJobRanks(std::move(timelines));
  }
  AddIssue(ImportIssue::kUnreadableFile, left_out.unreadable, job);
  AddIssue(ImportIssue::kNotATrace, left_out.not_traces, job);
  AddRankFindings(job, files);
  return job;
}

void AddIssues(const JobRanks& job, TraceReport& report) {
  for (const RankSetIssue& issue : job.issues) {
    const ImportIssueDoc& doc = DocOf(issue.issue);
    HealthIssue row{.issue = issue.issue,
                    .count = issue.count,
                    .detail = issue.detail,
                    .voids = {},
                    .of_set = true};
    if (!doc.voids.empty()) row.voids.emplace_back(doc.voids);
    std::vector<HealthIssue>& issues = report.health.issues;
    const auto behind = std::find_if(issues.begin(), issues.end(), [&](const HealthIssue& other) {
      return DocOf(other.issue).severity < doc.severity;
    });
    issues.insert(behind, std::move(row));
  }
}

}  // namespace headroom
