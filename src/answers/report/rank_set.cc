#include "answers/report/rank_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
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

/// Returns the share of `a`'s time in rows that `b` has, too.
double SharedPart(const std::vector<TimeRow>& a, const std::vector<TimeRow>& b) {
  std::set<std::string_view> names;
  for (const TimeRow& row : b) names.insert(row.name);
  double all = 0, shared = 0;
  for (const TimeRow& row : a) {
    all += row.total.ms();
    if (names.contains(row.name)) shared += row.total.ms();
  }
  return all > 0 ? shared / all : 0;
}

/// Returns true if two reports can be of ranks of one job. Ranks run mostly the same kernels, in
/// steps of about the same time.
bool CanBeOneJob(const TraceReport& a, const TraceReport& b) {
  constexpr double kSameStep = 1.25, kSameWork = 0.5;
  if (a.steps.p50.has_value() != b.steps.p50.has_value()) return false;
  if (a.steps.p50) {
    const double first = a.steps.p50->ms(), second = b.steps.p50->ms();
    if (std::max(first, second) > kSameStep * std::min(first, second)) return false;
  }
  if (a.kernels.empty() != b.kernels.empty()) return false;
  if (a.kernels.empty()) return true;
  return std::min(SharedPart(a.kernels, b.kernels), SharedPart(b.kernels, a.kernels)) >= kSameWork;
}

/// Returns true if the files cannot be the ranks of one job: none shows that it is a rank of a job
/// of several, and they differ.
bool AreUnrelated(const std::vector<TraceReport>& files,
                  const std::vector<RankTimeline>& timelines) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (RankOfFileName(files[i].input.path)) return false;
    if (i >= timelines.size()) continue;
    const std::optional<std::int64_t> world_size = timelines[i].world_size;
    if (world_size ? *world_size > 1 : files[i].input.rank.has_value()) return false;
    if (!timelines[i].collectives.empty()) return false;
  }
  return std::any_of(files.begin() + 1, files.end(),
                     [&](const TraceReport& file) { return !CanBeOneJob(files.front(), file); });
}

/// Removes all files but the one with the longest median step, and reports that.
RankSetIssue KeepSlowest(std::vector<TraceReport>& files) {
  const std::size_t count = files.size();
  const auto slowest =
      std::ranges::max_element(files, {}, [](const TraceReport& file) { return file.steps.p50; });
  std::iter_swap(files.begin(), slowest);
  files.erase(files.begin() + 1, files.end());
  return {ImportIssue::kOtherJob, static_cast<std::int64_t>(count),
          fmt::format("only this file is reported, the {} of {}: nothing shows that they are ranks "
                      "of one job",
                      files.front().steps.p50 ? "slowest" : "first", count)};
}

}  // namespace

Result<JobRanks> CompareFiles(std::vector<TraceReport>& files, std::vector<RankTimeline> timelines,
                              const LeftOutFiles& left_out) {
  JobRanks job;
  if (files.size() > 1 && AreUnrelated(files, timelines)) job.issues.push_back(KeepSlowest(files));
  if (Status status = AssignRanks(files); !status.ok()) return status;
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
