// Choice of the rank that represents a job.
#pragma once

#include <cstddef>

#include "ranks/job_ranks.h"

namespace headroom {

/// Returns the index of the rank with the median computing time per step (mean over its steps). If
/// two ranks are in the middle, returns the one that computes less. Considers the largest set of
/// ranks on one clock, without stragglers. Uses stragglers and ranks without a recorded computing
/// time only if there are no others. REQUIRES: there is a rank.
std::size_t MedianRank(const JobRanks& job);

}  // namespace headroom
