// Maps each of several trace files to its rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"
#include "base/status.h"

namespace headroom {

/// Returns the number after the last "rank" in a file's name ("trace_rank-3.json.gz": 3). Ignores
/// folders.
std::optional<std::int64_t> RankOfFileName(std::string_view path);

/// Returns the host name from the file name that PyTorch's tensorboard_trace_handler writes
/// ("node7_4711.1700000000000.pt.trace.json.gz": node7). Returns "" if the name has another form.
std::string HostOfFileName(std::string_view path);

/// Gives every report of several files a rank, in this order of preference:
/// 1. The rank that the trace states.
/// 2. The rank in the file name, if no other file has that rank.
/// 3. The file's position, or the next free number.
///
/// A single file keeps its rank. Fails with kUsage if two traces state the same rank, because their
/// rows could not be distinguished.
Status AssignRanks(std::vector<TraceReport>& files);

}  // namespace headroom
