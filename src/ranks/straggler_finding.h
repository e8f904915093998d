// What the ranks of a job together show that is worth a change.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

struct RankFinding {
  std::size_t rank =
      0;  ///< Index of the one that it is about: the late one, or the latest of many.
  Finding finding;
};

/// That a rank holds the others up, step after step or in turn; none: by no share of time that
/// counts, or in one step alone.
std::optional<RankFinding> FindStraggler(const JobRanks& job);

}  // namespace headroom
