// The ranks of a job with their clocks, after each trace was read separately.
#pragma once

#include <vector>

#include "base/time.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// Has at least one rank. Each rank has a clock, a base and a first timestamp.
struct JobTraces {
  JobRanks ranks;
  std::vector<DurationNs> bases;  ///< Unix time of each trace's timestamp 0, by rank index.
  /// Earliest timestamp of any row on the rank's own clock, by rank index.
  std::vector<TimeNs> firsts;
};

}  // namespace headroom
