#include "cli/inputs/replayed_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/inputs/job_traces.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "ranks/median_rank.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

std::int64_t OnOneClockWith(std::size_t rank, const Alignment& alignment) {
  const RankClock& own = alignment.clocks[rank];
  if (!own.aligned) return 1;
  return std::count_if(
      alignment.clocks.begin(), alignment.clocks.end(),
      [&](const RankClock& clock) { return clock.aligned && clock.root == own.root; });
}

void RemarkOn(const ReplayedRank& rank) {
  const auto remark = [](const std::string& text) {
    Remark(fmt::format("headroom: {}\n", Printable(text, CharsetOfEnvironment())));
  };
  if (rank.compared > 1) {
    for (const RankSetIssue& issue : rank.job.issues) remark(issue.detail);
    return;
  }
  // Ranks that do not communicate do not wait for others.
  if (rank.job.ranks[rank.index].collectives.empty()) return;
  std::string text;
  for (const RankSetIssue& issue : rank.job.issues) {
    if (issue.issue != ImportIssue::kMissingRanks) text += issue.detail + "; ";
  }
  remark(fmt::format("{}rank {} is scaled alone, and its waits for others count as transfer", text,
                     *rank.number));
}

}  // namespace

CollectiveSkew ReplayedRank::SkewOf(std::int64_t gpus) const {
  if (compared < 2) return {};
  return MeasureSkew(job.ranks, job.alignment, index, gpus);
}

Result<ReplayedRank> ChooseReplayedRank(const TraceFiles& files, const JobOptions& options) {
  ReplayedRank rank;
  if (files.paths.size() == 1) {
    rank.path = files.paths.front();
    return rank;
  }
  Result<AnalysisOptions> analysis = AnalysisOf(options);
  if (!analysis.ok()) return analysis.status();
  Result<JobTraces> traces = ReadJobTraces(
      files,
      {.analysis = std::move(analysis).value(), .open = options.open, .quiet = options.quiet});
  if (!traces.ok()) return traces.status();
  JobRanks& job = traces.value().ranks;
  if (job.ranks.empty()) return Status::Usage(job.issues.front().detail);
  rank.index = MedianRank(job);
  rank.path = job.ranks[rank.index].path;
  // If no other file was readable, the rank counts as a single file.
  if (job.ranks.size() == 1 && job.issues.empty()) return rank;
  rank.number = job.ranks[rank.index].rank;
  rank.compared = OnOneClockWith(rank.index, job.alignment);
  rank.job = std::move(job);
  if (!options.quiet) RemarkOn(rank);
  return rank;
}

}  // namespace headroom::cli
