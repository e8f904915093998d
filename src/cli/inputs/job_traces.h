// Reads the files of a job's ranks, one at a time, and keeps the data that compares them.
#pragma once

#include "analysis/analyze.h"
#include "base/status.h"
#include "cli/inputs/trace_files.h"
#include "ingest/open_trace.h"
#include "ranks/job_traces.h"

namespace headroom::cli {

struct JobTracesOptions {
  AnalysisOptions analysis;  ///< Options of the analysis of each file; the path is set per file.
  OpenOptions open = {};
  bool quiet = false;  ///< True prints no remarks and no progress.
};

/// Gives each file its rank as AssignRanks() does, and compares ranks as AnalyzeJobRanks() does. A
/// single file is not compared and may have no rank. Leaves out an unreadable file of a folder,
/// with a remark. Fails as OpenTrace() does for a file that the user named, or if no other file is
/// readable. Fails as AnalyzeTrace() and AssignRanks() do (kUsage).
Result<JobTraces> ReadJobTraces(const TraceFiles& files, const JobTracesOptions& options);

}  // namespace headroom::cli
