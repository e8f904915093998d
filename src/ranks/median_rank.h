// Which of a job's ranks stands for all.
#pragma once

#include <cstddef>

#include "ranks/job_ranks.h"

namespace headroom {

/// Index of the median by what a rank computes in a step (mean over its steps; of two in the
/// middle, the one that computes less), among the most that are on one clock and hold nobody up.
/// Ranks of which no computing is known, and stragglers, count where there is no other.
/// REQUIRES: there is a rank.
std::size_t MedianRank(const JobRanks& job);

}  // namespace headroom
