#include "ranks/job_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ranks/group_names.h"
#include "render/number_format.h"

namespace headroom {
namespace {

/// Returns, for example, "0, 2 and 5 more".
std::string SomeOf(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kShown = 8;
  std::vector<std::int64_t> shown(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, ranks.size())));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

std::optional<std::int64_t> WorldOf(const JobRanks& job) {
  for (const RankTimeline& rank : job.ranks) {
    if (rank.world_size) return rank.world_size;
  }
  return std::nullopt;
}

void FindMissing(JobRanks& job) {
  const std::optional<std::int64_t> world = WorldOf(job);
  if (!world) return;
  std::set<std::int64_t> present;
  for (const RankTimeline& rank : job.ranks) present.insert(*rank.rank);
  std::vector<std::int64_t> missing;
  constexpr std::int64_t kMaxRanks = 1'000'000;
  for (std::int64_t rank = 0; rank < std::min(*world, kMaxRanks); ++rank) {
    if (!present.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return;
  job.issues.push_back({ImportIssue::kMissingRanks, static_cast<std::int64_t>(missing.size()),
                        fmt::format("{} of {} ranks have a file; missing: rank {}. The rank "
                                    "that arrives last may itself wait for a missing rank",
                                    job.ranks.size(), *world, SomeOf(missing))});
}

/// Finds files that state different world sizes, and removes files with a rank beyond the world
/// size. Returns true if the remaining files cannot be compared.
bool FindOtherJobs(JobRanks& job) {
  std::set<std::int64_t> sizes;
  for (const RankTimeline& rank : job.ranks) {
    if (rank.world_size) sizes.insert(*rank.world_size);
  }
  if (sizes.size() > 1) {
    job.issues.push_back(
        {ImportIssue::kOtherJob, static_cast<std::int64_t>(sizes.size()),
         fmt::format("the files belong to jobs of {} ranks", fmt::join(sizes, " and of "))});
    return true;
  }
  if (sizes.empty()) return false;
  // The origin of such a file is unknown, so the other files are compared without it.
  std::vector<std::string> odd;
  std::erase_if(job.ranks, [&](const RankTimeline& rank) {
    const bool is_odd = *rank.rank >= *sizes.begin();
    if (is_odd) odd.push_back(fmt::format("{} belongs to rank {}", rank.path, *rank.rank));
    return is_odd;
  });
  if (!odd.empty()) {
    job.issues.push_back(
        {ImportIssue::kOtherJob, static_cast<std::int64_t>(odd.size()),
         fmt::format("{}{}, but the job has {} ranks; files of such ranks are not compared",
                     odd.front(),
                     odd.size() > 1 ? fmt::format(" (further such files: {})", odd.size() - 1) : "",
                     *sizes.begin())});
  }
  return job.ranks.empty();
}

void FindUnaligned(JobRanks& job) {
  // Ranks that never communicated need no common clock.
  const bool talked = std::any_of(job.ranks.begin(), job.ranks.end(), [](const RankTimeline& rank) {
    return !rank.collectives.empty();
  });
  if (!talked) return;
  std::vector<std::int64_t> unaligned;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (!job.alignment.clocks[r].aligned) unaligned.push_back(*job.ranks[r].rank);
  }
  if (unaligned.empty()) return;
  job.issues.push_back(
      {ImportIssue::kUnalignedRanks, static_cast<std::int64_t>(unaligned.size()),
       fmt::format("rank {}: fewer than {} collectives that all ranks leave together (all-reduce, "
                   "all-gather, reduce-scatter) match those of other ranks by communicator, kind, "
                   "size and step; such a rank is not compared",
                   SomeOf(unaligned), kMinMatches)});
}

/// Finds sets of ranks with separate clocks: pipeline stages, or jobs with the same world size.
void FindSeparate(JobRanks& job) {
  std::map<std::size_t, std::vector<std::int64_t>> by_root;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankClock& clock = job.alignment.clocks[r];
    if (clock.aligned) by_root[clock.root].push_back(*job.ranks[r].rank);
  }
  if (by_root.size() < 2) return;
  std::vector<std::string> sets;
  sets.reserve(by_root.size());
  for (const auto& [root, ranks] : by_root) sets.push_back(SomeOf(ranks));
  constexpr std::size_t kShown = 4;
  const std::size_t more = sets.size() > kShown ? sets.size() - kShown : 0;
  sets.resize(sets.size() - more);
  const bool stages = std::any_of(job.ranks.begin(), job.ranks.end(), [](const auto& rank) {
    return std::any_of(rank.collectives.begin(), rank.collectives.end(),
                       [](const RankCollective& c) { return IsPointToPoint(c.kind); });
  });
  job.issues.push_back(
      {ImportIssue::kSeparateRanks, static_cast<std::int64_t>(by_root.size()),
       fmt::format("ranks {}{} share no collective that all ranks leave together: {}; each set has "
                   "its own clock and is compared separately",
                   fmt::join(sets, " | "), more > 0 ? fmt::format(" | and {} more sets", more) : "",
                   stages ? "they are pipeline stages, or belong to different jobs"
                          : "they may belong to different jobs")});
}

/// Finds steps that only some of the ranks have.
void FindDifferentSteps(JobRanks& job) {
  std::map<std::size_t, std::vector<std::int64_t>> by_count;
  for (const RankTimeline& rank : job.ranks) by_count[rank.steps.size()].push_back(*rank.rank);
  if (by_count.size() < 2) return;
  std::string text;
  constexpr std::size_t kShown = 4;
  std::size_t shown = 0;
  for (const auto& [count, ranks] : by_count) {
    if (shown++ == kShown) break;
    text += fmt::format("{}{} of rank {}", text.empty() ? "" : ", ",
                        Plural(static_cast<std::int64_t>(count), "step"), SomeOf(ranks));
  }
  job.issues.push_back({ImportIssue::kDifferentSteps, static_cast<std::int64_t>(by_count.size()),
                        text + ": only steps that several ranks have are compared"});
}

}  // namespace

JobRanks AnalyzeJobRanks(std::vector<RankTimeline> ranks) {
  JobRanks job;
  job.ranks = std::move(ranks);
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankTimeline& a, const RankTimeline& b) { return *a.rank < *b.rank; });
  const bool other = job.ranks.empty() || FindOtherJobs(job);
  job.alignment.clocks.resize(job.ranks.size());
  if (other) return job;
  TellGroupsApart(job.ranks);
  job.alignment = AlignRanks(job.ranks);
  job.waits = MeasureWaits(job.ranks, job.alignment);
  job.work = CompareWork(job.ranks);
  job.late = FindLateCause(job.ranks, job.waits, job.work);
  job.axes = FindParallelAxes(job.ranks);
  job.pipeline = FindPipeline(job.ranks, job.axes);
  FindMissing(job);
  FindUnaligned(job);
  FindSeparate(job);
  FindDifferentSteps(job);
  return job;
}

}  // namespace headroom
