// Reads the traces that `headroom diff` and `headroom baseline` compare, one at a time in memory.
#pragma once

#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "cli/inputs/open_job.h"
#include "compare/job_profile.h"

namespace headroom::cli {

/// Reads repeated runs of one job; each file of a folder is one trace. Joins files of several ranks
/// by rank (JoinRanks()). If each rank has several files, the first files of all ranks form the
/// first run, and so on. Frees the memory of a trace before it reads the next. Fails as OpenTrace()
/// and AnalyzeTrace() do.
///
/// Fails with kNoAnswer without whole steps. Fails with kUsage if a file is given twice, if ranks
/// have different numbers of files, or if files belong to different jobs.
Result<JobProfile> ProfileTraces(const std::vector<std::string>& named,
                                 const ReferenceData& reference, const JobOptions& options);

}  // namespace headroom::cli
