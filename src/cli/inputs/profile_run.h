// Reads the traces that `headroom diff` and `headroom baseline` compare, one at a time in memory.
#pragma once

#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "cli/inputs/open_job.h"
#include "compare/job_profile.h"

namespace headroom::cli {

/// Repeated runs of one job: the files of folders each for itself. Files of several ranks are
/// joined by rank (JoinRanks()); where each rank has several, the first of each are a run, and so
/// on. What a trace took of memory is free again before the next is read. Fails as OpenTrace() and
/// AnalyzeTrace() do; kNoAnswer where there are no whole steps; kUsage where a file is given twice,
/// where ranks have different numbers of files, and where files are of different jobs.
Result<JobProfile> ProfileTraces(const std::vector<std::string>& named,
                                 const ReferenceData& reference, const JobOptions& options);

}  // namespace headroom::cli
