// The files of a job's ranks, read one at a time: what is kept of them all.
#pragma once

#include "analysis/analyze.h"
#include "base/status.h"
#include "cli/inputs/trace_files.h"
#include "ingest/open_trace.h"
#include "ranks/job_traces.h"

namespace headroom::cli {

struct JobTracesOptions {
  AnalysisOptions analysis;  ///< Of each file; the path is set.
  OpenOptions open = {};
  bool quiet = false;  ///< No remarks and no progress.
};

/// Each file has its rank as AssignRanks() gives it, and ranks are compared as AnalyzeJobRanks()
/// does; a file alone is compared with none, and may have no rank. A file of a folder that cannot
/// be read is left out, with a remark. Fails as OpenTrace() does for one that was named itself, or
/// where there is no other; and as AnalyzeTrace() and AssignRanks() do (kUsage).
Result<JobTraces> ReadJobTraces(const TraceFiles& files, const JobTracesOptions& options);

}  // namespace headroom::cli
