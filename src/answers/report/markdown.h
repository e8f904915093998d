// `headroom report --md`: the report in at most so many bytes, for pull requests and coding agents.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"

namespace headroom {

/// Rows of each table where ReportOptions::top is absent.
inline constexpr std::size_t kMarkdownTop = 5;

/// Most bytes, unless somebody says otherwise.
inline constexpr std::size_t kMarkdownBytes = 20'000;

/// Verdict, step time, breakdown, findings with their check commands, the largest kernels and
/// operators, and what is wrong with the trace.
/// Figures as in the text report. GitHub-flavoured; nothing in a name acts. REQUIRES: `files` is
/// not empty, max_bytes >= 200.
///
/// At most `max_bytes` long: tables lose rows first, then the end is cut after a line. Each list
/// that is cut says how many rows are left out, and the command that shows them.
std::string RenderMarkdown(std::span<const TraceReport> files, const ReportOptions& options,
                           std::size_t max_bytes = kMarkdownBytes);

}  // namespace headroom
