// What the ranks of a job together show that is worth a change.
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

/// Returns that a rank holds the others up, step after step or in turn; nullopt if no time worth a
/// change is lost, or only in one step.
std::optional<RankFinding> FindStraggler(const JobRanks& job);

/// Returns the waits of pipeline stages for each other; nullopt if they take under 1 % of the time.
std::optional<RankFinding> FindBubble(const JobRanks& job);

/// Adds each finding to the file of its rank. Findings stay in order of their savings.
void AddRankFindings(const JobRanks& job, std::vector<TraceReport>& files);

}  // namespace headroom
