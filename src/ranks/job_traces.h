// The traces of a job's ranks, once each was read alone.
#pragma once

#include <vector>

#include "base/time.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// There is at least one rank. Each has a clock, a base and a first stamp.
struct JobTraces {
  JobRanks ranks;
  std::vector<DurationNs> bases;  ///< By rank's index: of each trace's zero, in Unix time.
  std::vector<TimeNs> firsts;     ///< By rank's index: first stamp of any row, on its own clock.
};

}  // namespace headroom
