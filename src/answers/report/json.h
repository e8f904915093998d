// `headroom report --json`: one object of the format headroom.report/1 (docs/report.md,
// docs/schema/report-1.json).
#pragma once

#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "answers/report/shown_row.h"

namespace headroom {

/// The object, with a line break behind it. REQUIRES: `files` is not empty.
///
/// Keys beyond the contract: `ranks[]` (one row a file), `classes[]`, `syncs[]`, `efficiency`,
/// `bottleneck.causes[]`; `rank` wherever rows of several files meet.
std::string RenderJson(std::span<const TraceReport> files, const ReportOptions& options);

/// `report --show ID --json`: `{"schema": "headroom.row/1", "id", "kind", "rows", "calls"}`, the
/// rows with the keys that they have in the report. `ranked`: of several files.
std::string RenderShownRowJson(const ShownRow& found, const std::string& id,
                               const CallsByPath& calls, bool ranked, const ReportOptions& options);

}  // namespace headroom
