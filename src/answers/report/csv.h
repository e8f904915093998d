// `headroom report --csv DIR`: one CSV file per list.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"

namespace headroom {

/// A file to write: its name within the folder, and its content.
struct NamedFile {
  std::string name;
  std::string content;
};

/// Names of the files that RenderCsv() returns, in the same order.
inline constexpr std::array<std::string_view, 19> kCsvFiles = {
    "steps.csv",   "gpu_time.csv",    "idle.csv",      "kernels.csv",  "operators.csv",
    "layers.csv",  "lines.csv",       "syncs.csv",     "findings.csv", "classes.csv",
    "regions.csv", "timings.csv",     "callbacks.csv", "metrics.csv",  "waits.csv",
    "clocks.csv",  "collectives.csv", "memory.csv",    "stacks.csv"};

/// Returns one file per list: RFC 4180 with a header line, in UTF-8, with keys and units of the
/// JSON report. An absent value is an empty field. A ' precedes a field that a spreadsheet would
/// read as a formula. Requires that `files` is not empty.
std::vector<NamedFile> RenderCsv(std::span<const TraceReport> files, const ReportOptions& options);

}  // namespace headroom
