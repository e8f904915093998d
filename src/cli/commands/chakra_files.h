// `headroom export --to chakra`: writes one file per rank for ASTRA-sim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/inputs/trace_files.h"

namespace headroom::cli {

/// Writes each rank's trace to `prefix`.RANK.et. Writes no file if one fails. Each of several files
/// must state its rank, in the trace or in its name. A single file without a rank is rank 0. A file
/// that `headroom merge` made contributes all its ranks. Leaves out unreadable files of a folder,
/// with a remark.
///
/// @param rank  rank to write; nullopt writes all
Status WriteChakraFiles(const TraceFiles& files, std::optional<std::int64_t> rank,
                        const OpenOptions& open, bool quiet, const std::string& prefix);

}  // namespace headroom::cli
