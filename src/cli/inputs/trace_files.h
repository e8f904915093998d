// The trace files that a user names, folders among them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::cli {

struct TraceFiles {
  std::vector<std::string> paths;
  std::vector<bool> of_folder;       ///< By path: found in a folder, not named itself.
  std::vector<std::string> skipped;  ///< Files of folders whose names are not those of traces.
};

/// Replaces folders by the files in them whose names are those of traces (.json, .pftrace, .pb,
/// .perfetto-trace, .et, plain or compressed; .pftrace.PID), by name. A folder without traces
/// stands for the only folder below it that holds some. Fails with kBadInput for a folder that
/// cannot be read, or that has no trace or several folders of traces.
Result<TraceFiles> FindTraceFiles(const std::vector<std::string>& named);

/// Returns the only trace file of a folder; a file stands for itself. Fails as FindTraceFiles()
/// does, and with kBadInput for several traces.
Result<std::string> FindOneTraceFile(const std::string& named);

/// Files of one process that its profiler wrote one after the other: by the first, all others. They
/// are one trace, not ranks. Told by the names that PyTorch's tensorboard_trace_handler gives them
/// (HOST_PID.TIME.pt.trace.json); else, where names differ in numbers alone, by the process and the
/// rank in their heads and by reading them: no two overlap in time.
using Recordings = std::map<std::string, std::vector<std::string>>;
Recordings FindRecordings(const std::vector<std::string>& paths);

}  // namespace headroom::cli
