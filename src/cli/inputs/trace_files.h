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
  std::vector<std::string> skipped;  ///< Files of folders without the name of a trace.
};

/// Replaces folders by their files with names of traces, sorted by name. Such names are .json,
/// .pftrace, .pb, .perfetto-trace and .et, plain or compressed, and .pftrace.PID. A
/// folder without traces stands for the only folder below it that has some. Fails with kBadInput if
/// a folder is unreadable, or has no trace or several folders of traces.
Result<TraceFiles> FindTraceFiles(const std::vector<std::string>& named);

/// Returns the only trace file of a folder, or the file itself. Fails as FindTraceFiles() does, and
/// with kBadInput for several traces.
Result<std::string> FindOneTraceFile(const std::string& named);

/// Maps the first of several files of one process to the others. The profiler wrote them one after
/// the other, so they are one trace, not ranks. Finds them by the names that PyTorch's
/// tensorboard_trace_handler gives them (HOST_PID.TIME.pt.trace.json). Other names may differ only
/// in numbers. Then the process and rank in their heads must match, and no two files may overlap in
/// time.
using Recordings = std::map<std::string, std::vector<std::string>>;
Recordings FindRecordings(const std::vector<std::string>& paths);

}  // namespace headroom::cli
