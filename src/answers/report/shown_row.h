// `headroom report --show ID`: one kernel, operator, layer, step or finding.
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
/// By RowId() (render/row_id.h). None: `report` has no such row.
std::optional<NamedRow> FindNamedRow(const TraceReport& report, std::string_view id);

/// The calls of a row, by path of the file.
using CallsByPath = std::map<std::string, RowCalls, std::less<>>;

/// What an id stands for: rows of one list, one a file that has it.
struct ShownRow {
  std::string_view kind;  ///< "kernel", "operator", "layer", "step", "finding".
  std::vector<RowOfFile<TimeRow>> times = {};  ///< Of the first three.
  std::vector<RowOfFile<StepRow>> steps = {};
  std::vector<RowOfFile<Finding>> findings = {};  ///< One.
};

/// By RowId() (render/row_id.h), "step-N" or a finding's id. None: there is no such row. Points
/// into `job`'s files.
std::optional<ShownRow> FindRow(const JobReport& job, std::string_view id);

/// All that is known of it, as lines of label and value; in Markdown as a table.
std::string RenderShownRow(const ShownRow& row, const std::string& id, const CallsByPath& calls,
                           bool markdown, const ReportOptions& options);

}  // namespace headroom
