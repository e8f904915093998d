// The one trace that a command turns into something else: a file, one of a folder, or one rank of a
// file that holds several.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/inputs/trace_files.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

struct ChosenTrace {
  std::string path;
  std::unique_ptr<TraceStore> store;
};

/// Reads the trace. Of several files, the one that says it is of `rank`, else the one whose name
/// does; of a file that `headroom merge` made, that rank's part. Fails as OpenTrace() does, and
/// (kUsage) where the files hold no such rank or it takes a rank to choose.
Result<ChosenTrace> OpenChosenTrace(const TraceFiles& files, std::optional<std::int64_t> rank,
                                    const OpenOptions& open, bool quiet);

}  // namespace headroom::cli
