// Which rank each of several trace files belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/report.h"
#include "base/status.h"

namespace headroom::cli {

/// The number behind the last "rank" in a file's name ("trace_rank-3.json.gz": 3); folders do not
/// count.
std::optional<std::int64_t> RankOfFileName(std::string_view path);

/// Gives every report of several files a rank: what the trace says; else what the file name says,
/// if no other file has that rank; else the file's position, or the next free number. A single file
/// keeps what it has. Fails (kUsage) where two traces say that they are the same rank: rows of one
/// rank could not be told apart.
Status AssignRanks(std::vector<TraceReport>& files);

}  // namespace headroom::cli
