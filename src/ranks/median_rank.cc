#include "ranks/median_rank.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/statistics.h"

namespace headroom {
namespace {

/// Returns the indices of the largest set of ranks on one clock, or of all ranks if no clocks are
/// aligned.
std::vector<std::size_t> Comparable(const JobRanks& job) {
  std::map<std::size_t, std::vector<std::size_t>> by_root;
  std::vector<std::size_t> all;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankClock& clock = job.alignment.clocks[r];
    if (clock.aligned) by_root[clock.root].push_back(r);
    all.push_back(r);
  }
  const auto most = std::max_element(
      by_root.begin(), by_root.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == by_root.end() ? all : most->second;
}

/// Returns the mean computing time over the steps that recorded one, in ns; 0 if there are none.
std::int64_t ComputingNs(const RankTimeline& rank) {
  std::int64_t ns = 0, steps = 0;
  for (const RankStep& step : rank.steps) {
    if (step.computing <= DurationNs(0)) continue;
    ns += step.computing.ns();
    ++steps;
  }
  return steps > 0 ? ns / steps : 0;
}

}  // namespace

std::size_t MedianRank(const JobRanks& job) {
  std::vector<std::size_t> ranks = Comparable(job);
  const std::vector<std::size_t>& late = job.waits.stragglers;
  const auto is_late = [&](std::size_t rank) {
    return std::find(late.begin(), late.end(), rank) != late.end();
  };
  if (!std::all_of(ranks.begin(), ranks.end(), is_late)) std::erase_if(ranks, is_late);
  std::vector<std::pair<std::int64_t, std::size_t>> by_computing;
  for (const std::size_t rank : ranks) {
    const std::int64_t ns = ComputingNs(job.ranks[rank]);
    if (ns > 0) by_computing.emplace_back(ns, rank);
  }
  if (by_computing.empty()) return ranks.front();
  std::sort(by_computing.begin(), by_computing.end());
  return SortedPercentile(by_computing, 50).second;
}

}  // namespace headroom
