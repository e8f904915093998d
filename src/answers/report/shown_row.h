// `headroom report --show ID`: shows one kernel, operator, layer, step or finding.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/row_calls.h"
#include "answers/report/job_report.h"

namespace headroom {

/// A kernel, operator or layer of one trace.
struct NamedRow {
  CallTable table = CallTable::kKernels;
  std::string name;
};
/// Finds a row by RowId() (render/row_id.h). Returns nullopt if `report` has no such row.
std::optional<NamedRow> FindNamedRow(const TraceReport& report, std::string_view id);

/// The calls of one row in each file, by path of the file.
using CallsByPath = std::map<std::string, RowCalls, std::less<>>;

/// The rows with one id, all from the same list: one per file that has the row.
struct ShownRow {
  std::string_view kind;  ///< "kernel", "operator", "layer", "step", "finding".
  std::vector<RowOfFile<TimeRow>> times = {};  ///< Rows of a kernel, operator or layer.
  std::vector<RowOfFile<StepRow>> steps = {};
  std::vector<RowOfFile<Finding>> findings = {};  ///< One finding.
};

/// Finds rows by RowId() (render/row_id.h), "step-N" or a finding's id. Returns nullopt if there is
/// no such row. The result points into `job`'s files.
std::optional<ShownRow> FindRow(const JobReport& job, std::string_view id);

/// Returns all facts of a row, as lines of label and value, or as a Markdown table.
std::string RenderShownRow(const ShownRow& row, const std::string& id, const CallsByPath& calls,
                           bool markdown, const ReportOptions& options);

}  // namespace headroom
