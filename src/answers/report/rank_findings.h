// Finds stragglers and pipeline bubbles, which only the files of several ranks show.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

struct RankFinding {
  std::size_t rank = 0;  ///< Index in `job.ranks`: the latest rank, or one that waits longest.
  Finding finding;
};

/// Returns a finding if the same rank delays the others in every step, or a different rank in each.
/// Returns nullopt if the loss is too small or occurs in one step only.
std::optional<RankFinding> FindStraggler(const JobRanks& job);

/// Returns a finding about the pipeline bubble: stages that wait for each other; nullopt if they
/// wait for less than 1 % of the time.
std::optional<RankFinding> FindBubble(const JobRanks& job);

/// Adds each finding to the file of its rank. Findings stay in order of their savings.
void AddRankFindings(const JobRanks& job, std::vector<TraceReport>& files);

}  // namespace headroom
