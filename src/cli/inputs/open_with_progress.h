// Opens a trace file for a command, with a progress line.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cli/flags/command.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

/// Returns the default of --threads: one thread per logical CPU.
int DefaultThreads();

/// Adds --max-expansion.
Flag AddMaxExpansionFlag(Command command, ExpansionLimit& limit);
/// Adds --threads and --max-expansion. Sets their defaults.
void AddOpenFlags(Command command, OpenOptions& options);

/// Opens a trace like OpenTrace(). Shows a progress line on stderr while reading takes longer than
/// a second.
///
/// @param quiet  true shows no progress line
Result<std::unique_ptr<TraceStore>> OpenWithProgress(const std::string& path, OpenOptions options,
                                                     bool quiet);

}  // namespace headroom::cli
