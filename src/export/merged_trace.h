// Merges the ranks of a job into one trace on one clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "ingest/open_trace.h"
#include "ranks/job_traces.h"

namespace headroom {

/// Returns the offset from the rank's clock to the clock of the reference rank's trace, at the time
/// `own` on the rank's clock. The reference rank is the root of the first rank.
///
/// @param rank  index in JobRanks::ranks
DurationNs ShiftAt(const JobTraces& job, std::size_t rank, TimeNs own);

/// Writes all ranks to a file in Chrome's JSON format, with one rank in memory at a time. Returns
/// the number of events. Fails like OpenTrace(), CheckWrittenTexts() and TraceFile, and then leaves
/// no file.
/// @param path  path of the file, which is compressed if the path ends in ".gz"
Result<std::int64_t> WriteMergedTrace(const JobTraces& job, const std::string& path,
                                      const OpenOptions& options);

}  // namespace headroom
