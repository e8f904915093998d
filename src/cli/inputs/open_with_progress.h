// Opens a trace file for a command, with a progress line.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

/// Returns the threads to read with where no flag says so: one a processor.
int DefaultThreads();

/// OpenTrace(), with a progress line on stderr once that takes over a second.
///
/// @param quiet  shows none
Result<std::unique_ptr<TraceStore>> OpenWithProgress(const std::string& path, OpenOptions options,
                                                     bool quiet);

}  // namespace headroom::cli
