// `headroom report --json`: writes one object of the format headroom.report/1 (docs/report.md,
// docs/schema/report-1.json).
#pragma once

#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "answers/report/shown_row.h"

namespace headroom {

/// Returns the object with a newline at the end. Requires that `files` is not empty.
///
/// Findings and the engine window have the key `rank` only for several files.
std::string RenderJson(std::span<const TraceReport> files, const ReportOptions& options);

/// Returns the answer of `report --show ID --json`: `{"schema": "headroom.row/1", "id", "kind",
/// "rows", "calls"}`. Rows have the same keys as in the report. `ranked` adds the key `rank` to
/// findings; it is true for several files.
std::string RenderShownRowJson(const ShownRow& found, const std::string& id,
                               const CallsByPath& calls, bool ranked, const ReportOptions& options);

}  // namespace headroom
