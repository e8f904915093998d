// Chooses the one trace that a command converts: a file, one file of a folder, or one rank of a
// file with several ranks.
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

/// Reads the chosen trace: the first file that has `rank` in its content, or else in its name. From
/// a file that `headroom merge` made, takes only the part of that rank. Fails as OpenTrace() does.
/// Fails with kUsage if no file has `rank`, or if several files require a choice and `rank` is
/// nullopt.
Result<ChosenTrace> OpenChosenTrace(const TraceFiles& files, std::optional<std::int64_t> rank,
                                    const OpenOptions& open, bool quiet);

}  // namespace headroom::cli
