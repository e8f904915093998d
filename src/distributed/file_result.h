// What reading one of several trace files gave: plain values that one process can hand to another.
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
  Status status;                         ///< Not ok: why there is no report.
  std::optional<TraceReport> report;     ///< Of the file by itself.
  std::vector<std::int64_t> ranks;       ///< Of a merged file, where none was asked for.
  std::optional<RankTimeline> timeline;  ///< To be compared with others'; none: of a single file.
  std::optional<RowCalls> calls;  ///< Of the row that was asked for; none: it is no such row.
};

/// As bytes, for UnpackResults() of the same program on the same kind of machine; every value comes
/// back as it was, to the last bit.
std::string PackResults(const std::vector<FileResult>& results);

/// REQUIRES: PackResults() of the same program made the bytes.
std::vector<FileResult> UnpackResults(const std::string& bytes);

}  // namespace headroom
