// The result of reading one of several trace files, as plain values that one process can send to
// another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/row_calls.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "ranks/rank_timeline.h"

namespace headroom {

struct FileResult {
  Status status;                      ///< If not ok, the reason for the missing report.
  std::optional<TraceReport> report;  ///< Report of the file alone.
  std::vector<std::int64_t> ranks;    ///< Ranks in a merged file if no rank was requested.
  /// For comparison with other ranks; nullopt for a single file.
  std::optional<RankTimeline> timeline;
  std::optional<RowCalls> calls;  ///< Calls of the requested row; nullopt if the file lacks it.
};

/// Returns the results as bytes for UnpackResults() in the same program on the same kind of
/// machine. Restores every value exactly, except `ranks`, which is not sent.
std::string PackResults(const std::vector<FileResult>& results);

/// REQUIRES: PackResults() of the same program made the bytes.
std::vector<FileResult> UnpackResults(const std::string& bytes);

}  // namespace headroom
