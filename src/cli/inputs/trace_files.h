// Finds the trace files that a user names, also in folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::cli {

struct TraceFiles {
  std::vector<std::string> paths;
  std::vector<bool> of_folder;       ///< One per path: true if it was found in a folder, not named
                                     ///< by the user.
  std::vector<std::string> skipped;  ///< Files of folders that do not have the name of a trace.
};

/// Replaces each folder with its trace files, sorted by name. Names of trace files end in .json,
/// .pftrace, .pb, .perfetto-trace, .et, .sqlite, .nsys-rep or results.db, plain or compressed, or
/// in .pftrace.PID. A folder without trace files stands for the only folder below it that has some.
/// Small JSON files without events do not count if such a folder exists.
/// Fails with kBadInput if a folder is unreadable, or has no trace or several folders of traces.
Result<TraceFiles> FindTraceFiles(const std::vector<std::string>& named);

/// Returns the files that FindTraceFiles() finds and, for a named recording of `headroom record`,
/// those of the job's other ranks, in its folder as FILE.PID. Does not add files that are
/// named, too.
Result<TraceFiles> FindJobFiles(const std::vector<std::string>& named);

/// Returns the only trace file of a folder, or the file itself. Fails as FindTraceFiles() does, and
/// with kBadInput for several traces.
Result<std::string> FindOneTraceFile(const std::string& named);

/// Maps the first of several files of one process to the others. The profiler wrote them one after
/// the other, so they are one trace, not ranks. Finds them by the names that PyTorch's
/// tensorboard_trace_handler gives them (HOST_PID.TIME.pt.trace.json). Also accepts other names
/// that differ only in numbers. Then process and rank of the files must be the same, and the files
/// must not overlap in time.
using Recordings = std::map<std::string, std::vector<std::string>>;
Recordings FindRecordings(const std::vector<std::string>& paths);

}  // namespace headroom::cli
