// What the ranks of a job together show that is worth a change.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

struct RankFinding {
  std::size_t rank = 0;  ///< Index in `job.ranks` of the late one, or the latest of many.
  Finding finding;
};

/// Returns that a rank holds the others up, step after step or in turn; nullopt if no time worth a
/// change is lost, or only in one step.
std::optional<RankFinding> FindStraggler(const JobRanks& job);

/// Adds the finding to the file of that rank; findings stay in order of what they save.
void AddStraggler(const JobRanks& job, std::vector<TraceReport>& files);

}  // namespace headroom
