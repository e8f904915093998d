#include "answers/report/rank_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "answers/report/rank_findings.h"
#include "ranks/rank_of_file.h"
#include "render/number_format.h"

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

/// The shortest and the longest median step of the files, ignoring files without steps.
struct StepSpread {
  DurationNs shortest, longest;
};

std::optional<StepSpread> SpreadOf(const std::vector<TraceReport>& files) {
  std::optional<StepSpread> spread;
  for (const TraceReport& file : files) {
    if (!file.steps.p50) continue;
    if (!spread) spread = {*file.steps.p50, *file.steps.p50};
    spread->shortest = std::min(spread->shortest, *file.steps.p50);
    spread->longest = std::max(spread->longest, *file.steps.p50);
  }
  return spread;
}

/// Returns true if the files cannot be the ranks of one job: none has a rank, a world size or a
/// collective, and their steps take different times. Ranks step together.
bool AreUnrelated(const std::vector<TraceReport>& files,
                  const std::vector<RankTimeline>& timelines) {
  const bool states_rank = std::ranges::any_of(files, [](const TraceReport& file) {
    return file.input.rank || RankOfFileName(file.input.path);
  });
  const bool is_distributed = std::ranges::any_of(timelines, [](const RankTimeline& rank) {
    return rank.world_size || !rank.collectives.empty();
  });
  if (states_rank || is_distributed) return false;
  constexpr double kSameStep = 1.25;
  const std::optional<StepSpread> spread = SpreadOf(files);
  return spread && spread->longest.ms() > kSameStep * spread->shortest.ms();
}

/// Removes all files but the one with the longest median step, and reports that.
RankSetIssue KeepSlowest(std::vector<TraceReport>& files) {
  const std::size_t count = files.size();
  const StepSpread spread = *SpreadOf(files);
  std::erase_if(files, [&](const TraceReport& file) { return file.steps.p50 != spread.longest; });
  files.erase(files.begin() + 1, files.end());
  return {ImportIssue::kOtherJob, static_cast<std::int64_t>(count),
          fmt::format("only this file is reported, the slowest of {}: they do not look like ranks "
                      "of one job (no rank, world size or collective; median steps of {} to {})",
                      count, FormatTime(spread.shortest), FormatTime(spread.longest))};
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
