#include "cli/inputs/profile_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "answers/report/job_report.h"
#include "base/read_file.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/inputs/trace_files.h"
#include "compare/baseline_file.h"
#include "export/trace_part.h"
#include "ingest/open_trace.h"
#include "ranks/job_ranks.h"
#include "ranks/rank_of_file.h"
#include "whatif/finding_forecasts.h"

namespace headroom::cli {
namespace {

struct ProfiledFile {
  JobProfile profile;
  RankTimeline timeline;  ///< Its rank is what the trace says.
};

/// @param rank        of a merged file: whose part the store is; else as the trace says
/// @param has_others  that it may have to be compared with, as one rank with the next
Result<ProfiledFile> ProfileStore(const TraceStore& store, const std::string& path,
                                  std::optional<std::int64_t> rank, bool has_others,
                                  const ReferenceData& reference, const JobOptions& options) {
  Result<AnalysisOptions> analysis = AnalysisOf(options);
  if (!analysis.ok()) return analysis.status();
  analysis.value().path = path;
  analysis.value().rank = rank;
  NameFacts names(store, reference);
  Result<AnalyzedTrace> analyzed = AnalyzeTrace(store, reference, names, analysis.value());
  if (!analyzed.ok()) return analyzed.status();
  Result<JobProfile> profile = MakeProfile(store, names, analyzed.value());
  if (!profile.ok()) return profile.status();
  RankTimeline timeline;
  if (has_others) {
    timeline =
        ReadRankTimeline(store, names, reference.groups(), analyzed.value(), analysis.value());
    timeline.host = HostOfFileName(path);
    if (rank) timeline.rank = rank;
  }
  analyzed.value().attribution.reset();  // The forecasts need memory of their own.
  TraceReport& report = analyzed.value().report;
  if (Status status =
          ForecastFindings(store, reference, options.calibration, options.measured_step_ms, report);
      !status.ok())
    return status;
  AddForecasts(report, profile.value());
  profile.value().verdict = NameOf(report.bottleneck.verdict);
  return ProfiledFile{std::move(profile).value(), std::move(timeline)};
}

/// One profile a rank where the file is of several (`headroom merge`); else one.
Result<std::vector<ProfiledFile>> ProfileFile(const std::string& path, bool has_others,
                                              const ReferenceData& reference,
                                              const JobOptions& options) {
  Result<std::unique_ptr<TraceStore>> opened =
      OpenWithProgress(path, {.threads = DefaultThreads()}, options.quiet);
  if (!opened.ok()) return opened.status();
  std::vector<ProfiledFile> profiled;
  const auto add = [&](const TraceStore& store, std::optional<std::int64_t> rank, bool several) {
    Result<ProfiledFile> file =
        ProfileStore(store, path, rank, has_others || several, reference, options);
    if (!file.ok()) return file.status();
    profiled.push_back(std::move(file).value());
    return Status::Ok();
  };
  const std::vector<std::int64_t> merged = RanksOfProcesses(*opened.value());
  if (merged.size() < 2) {
    if (Status status = add(*opened.value(), std::nullopt, false); !status.ok()) return status;
  }
  for (std::size_t i = 0; merged.size() > 1 && i < merged.size(); ++i) {
    const std::unique_ptr<TraceStore> part =
        PartOf(*opened.value(), {.window = {}, .rank = merged[i]});
    if (Status status = add(*part, merged[i], true); !status.ok()) return status;
  }
  return profiled;
}

/// Gives files their ranks: what the traces say, else what the names of all files do. Whether they
/// are of several; kUsage where nobody can tell of one.
Result<bool> HasSeveralRanks(std::vector<ProfiledFile>& files) {
  const bool all_silent = std::none_of(files.begin(), files.end(), [](const ProfiledFile& file) {
    return file.timeline.rank.has_value();
  });
  std::set<std::int64_t> ranks;
  std::set<std::int64_t> worlds;
  std::string without;
  for (ProfiledFile& file : files) {
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
    return Status::Usage(fmt::format(
        "{} does not say its rank, and other files are of ranks {}: leave it out, or give the "
        "traces of one rank",
        without, fmt::join(ranks, ", ")));
  }
  if (worlds.size() > 1) {
    return Status::Usage(fmt::format("the files are of jobs of {} ranks: give those of one job",
                                     fmt::join(worlds, " and of ")));
  }
  return true;
}

/// Who waits for whom, as the report of the ranks has it.
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

/// Repeated runs of all ranks, each file one of a rank: the first files of the ranks are a run, ...
Result<JobProfile> JoinRunsOfRanks(std::vector<ProfiledFile> files) {
  std::map<std::int64_t, std::vector<ProfiledFile*>> by_rank;
  for (ProfiledFile& file : files) by_rank[*file.timeline.rank].push_back(&file);
  const std::size_t runs = by_rank.begin()->second.size();
  for (const auto& [rank, of_rank] : by_rank) {
    if (of_rank.size() == runs) continue;
    return Status::Usage(fmt::format(
        "rank {} has {} files and rank {} has {}: give each run's traces of the same ranks",
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

/// The first bytes of a regular file; empty where it cannot be read.
std::string BeginOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::array<char, 256> buffer{};
  std::ifstream file(path, std::ios::binary);
  file.read(buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(file.gcount())};
}

}  // namespace

Result<JobProfile> ProfileTraces(const std::vector<std::string>& named,
                                 const ReferenceData& reference, const JobOptions& options) {
  const Result<TraceFiles> files = FindTraceFiles(named);
  if (!files.ok()) return files.status();
  std::vector<ProfiledFile> profiled;
  std::set<std::string> seen;
  for (const std::string& path : files.value().paths) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && !seen.insert(real).second) {
      return Status::Usage(
          fmt::format("{} is given twice: a run that is repeated has a trace of its own", path));
    }
    Result<std::vector<ProfiledFile>> of_file =
        ProfileFile(path, files.value().paths.size() > 1, reference, options);
    if (!of_file.ok()) return of_file.status();
    std::move(of_file.value().begin(), of_file.value().end(), std::back_inserter(profiled));
  }
  const Result<bool> several = HasSeveralRanks(profiled);
  if (!several.ok()) return several.status();
  if (several.value()) return JoinRunsOfRanks(std::move(profiled));
  std::vector<JobProfile> runs;
  runs.reserve(profiled.size());
  for (ProfiledFile& file : profiled) runs.push_back(std::move(file.profile));
  return JoinRuns(std::move(runs));
}

Result<std::optional<JobProfile>> FindBaseline(const std::string& named,
                                               const std::string& folder) {
  std::error_code error;
  std::string path = named;
  if (!std::filesystem::exists(named, error)) {
    path = BaselinePath(folder, named);
    if (!CheckBaselineName(named).ok() || !std::filesystem::exists(path, error))
      return std::optional<JobProfile>();
  } else if (!LooksLikeBaseline(BeginOf(named))) {
    return std::optional<JobProfile>();
  }
  const Result<std::optional<std::string>> content = ReadFile(path);
  if (!content.ok()) return content.status();
  Result<JobProfile> profile = ParseBaseline({path, content.value().value_or("")});
  if (!profile.ok()) return profile.status();
  return std::optional<JobProfile>(std::move(profile).value());
}

}  // namespace headroom::cli
