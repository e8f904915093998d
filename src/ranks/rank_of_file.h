// Which rank each of several trace files belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"
#include "base/status.h"

namespace headroom {

/// The number behind the last "rank" in a file's name ("trace_rank-3.json.gz": 3); folders do not
/// count.
std::optional<std::int64_t> RankOfFileName(std::string_view path);

/// The machine by the name that PyTorch's tensorboard_trace_handler gives a file
/// ("node7_4711.1700000000000.pt.trace.json.gz": node7); empty: it has another form.
std::string HostOfFileName(std::string_view path);

/// Gives every report of several files a rank: what the trace says; else what the file name says,
/// if no other file has that rank; else the file's position, or the next free number. A single file
/// keeps what it has. Fails (kUsage) where two traces say that they are the same rank: rows of one
/// rank could not be told apart.
Status AssignRanks(std::vector<TraceReport>& files);

}  // namespace headroom
