// The ranks of a job as one trace, on one clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// The traces of a job's ranks, once each was read alone.
struct JobTraces {
  JobRanks ranks;
  std::vector<DurationNs> bases;  ///< By rank's index: of each trace's zero, in Unix time.
  std::vector<TimeNs> firsts;     ///< By rank's index: first stamp (FirstTime()).
};

/// Returns what takes a time of a rank's own clock to that of the merged trace.
///
/// @param rank  index in JobRanks::ranks
DurationNs ShiftAt(const JobTraces& job, std::size_t rank, TimeNs own);

/// Writes all ranks to a file, in Chrome's JSON, one at a time in memory. Returns the number of
/// events. Fails as OpenTrace() and TraceFile do; no file is left then.
///
/// @param path     compressed where it ends in ".gz"
/// @param threads  that read a trace
Result<std::int64_t> WriteMergedTrace(const JobTraces& job, const std::string& path, int threads);

}  // namespace headroom
