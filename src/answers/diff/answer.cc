#include "answers/diff/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "answers/report/job_report.h"
#include "ranks/job_ranks.h"
#include "ranks/rank_of_file.h"
#include "whatif/finding_forecasts.h"

namespace headroom {
namespace {

/// Gives each file its rank. Returns true if there are several ranks. Ranks come from the traces,
/// or from the file names if no trace states one. Fails with kUsage if the rank of only some files
/// is known.
Result<bool> HasSeveralRanks(std::vector<ProfiledTrace>& files) {
  const bool all_silent = std::none_of(files.begin(), files.end(), [](const ProfiledTrace& file) {
    return file.timeline.rank.has_value();
  });
  std::set<std::int64_t> ranks;
  std::set<std::int64_t> worlds;
  std::string without;
  for (ProfiledTrace& file : files) {
    if (all_silent) file.timeline.rank = RankOfFileName(file.timeline.path);
    if (file.timeline.rank) {
      ranks.insert(*file.timeline.rank);
    } else {
      without = file.timeline.path;
    }
    if (file.timeline.world_size) worlds.insert(*file.timeline.world_size);
  }
  if (ranks.size() < 2 || (all_silent && !without.empty())) return false;
  if (!without.empty()) {
    return Status::Usage(
        fmt::format("{} does not state its rank, but other files have ranks {}: leave it out, or "
                    "give the traces of one rank",
                    without, fmt::join(ranks, ", ")));
  }
  if (worlds.size() > 1) {
    return Status::Usage(
        fmt::format("the files are from jobs of {} ranks: give the files of one job",
                    fmt::join(worlds, " and of ")));
  }
  return true;
}

/// Adds the waits between ranks, computed as in `headroom report`.
void AddWaiting(const JobRanks& job, JobProfile& profile) {
  const JobWaits& waits = job.waits;
  if (waits.steps == 0 || waits.ranks.size() != job.ranks.size()) return;
  const auto steps = static_cast<double>(waits.steps);
  RankWaiting waiting{.lost_ms = waits.lost.ms() / steps, .late = ""};
  std::vector<std::int64_t> late;
  for (const std::size_t straggler : waits.stragglers)
    late.push_back(job.ranks[straggler].rank.value_or(0));
  if (!late.empty()) {
    waiting.late =
        fmt::format("rank{} {}, {}", late.size() > 1 ? "s" : "", fmt::join(late, ", "),
                    waits.pattern == StragglerPattern::kOnce ? "in one step" : "in most steps");
  } else if (waits.pattern == StragglerPattern::kRotating) {
    waiting.late = "another rank each time";
  }
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (!job.alignment.clocks[r].aligned) continue;
    for (RankFigures& rank : profile.ranks) {
      if (rank.rank == job.ranks[r].rank) rank.waited_ms = waits.ranks[r].waited.ms() / steps;
    }
  }
  profile.waiting = std::move(waiting);
}

/// Joins repeated runs of all ranks. The first file of each rank belongs to the first run, and so
/// on.
Result<JobProfile> JoinRunsOfRanks(std::vector<ProfiledTrace> files) {
  std::map<std::int64_t, std::vector<ProfiledTrace*>> by_rank;
  for (ProfiledTrace& file : files) by_rank[*file.timeline.rank].push_back(&file);
  const std::size_t runs = by_rank.begin()->second.size();
  for (const auto& [rank, of_rank] : by_rank) {
    if (of_rank.size() == runs) continue;
    return Status::Usage(
        fmt::format("each run needs one trace of every rank, but the numbers of files differ (rank "
                    "{}: {}, rank {}: {}); add the missing files, or leave out the incomplete run",
                    by_rank.begin()->first, runs, rank, of_rank.size()));
  }
  std::vector<JobProfile> jobs;
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<RankProfile> ranks;
    std::vector<RankTimeline> timelines;
    for (auto& [rank, of_rank] : by_rank) {
      ranks.push_back({rank, std::move(of_rank[run]->profile)});
      timelines.push_back(std::move(of_rank[run]->timeline));
    }
    jobs.push_back(JoinRanks(std::move(ranks)));
    AddWaiting(AnalyzeJobRanks(std::move(timelines)), jobs.back());
  }
  return JoinRuns(std::move(jobs));
}

}  // namespace

Result<ProfiledTrace> ProfileTrace(const TraceStore& store, const std::string& path,
                                   const ReferenceData& reference,
                                   const ProfileQuestion& question) {
  AnalysisOptions analysis = question.analysis;
  analysis.path = path;
  analysis.rank = question.rank;
  NameFacts names(store, reference);
  Result<AnalyzedTrace> analyzed = AnalyzeTrace(store, reference, names, analysis);
  if (!analyzed.ok()) return analyzed.status();
  Result<JobProfile> profile = MakeProfile(store, names, analyzed.value());
  if (!profile.ok()) return profile.status();
  RankTimeline timeline;
  if (question.has_others) {
    timeline = ReadRankTimeline(store, names, reference.groups(), analyzed.value(), analysis);
    timeline.host = HostOfFileName(path);
    if (question.rank) timeline.rank = question.rank;
  }
  analyzed.value().attribution.reset();  // Frees memory for the forecasts.
  TraceReport& report = analyzed.value().report;
  if (Status status = ForecastFindings(store, reference, question.calibration,
                                       question.measured_step_ms, report);
      !status.ok())
    return status;
  AddForecasts(report, profile.value());
  profile.value().verdict = NameOf(report.bottleneck.verdict);
  return ProfiledTrace{std::move(profile).value(), std::move(timeline)};
}

Result<JobProfile> JoinTraces(std::vector<ProfiledTrace> traces) {
  const Result<bool> several = HasSeveralRanks(traces);
  if (!several.ok()) return several.status();
  if (several.value()) return JoinRunsOfRanks(std::move(traces));
  std::vector<JobProfile> runs;
  runs.reserve(traces.size());
  for (ProfiledTrace& trace : traces) runs.push_back(std::move(trace.profile));
  return JoinRuns(std::move(runs));
}

}  // namespace headroom
