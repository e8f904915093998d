// `headroom report --md`: writes the report in a limited number of bytes, for pull requests and
// coding agents.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"

namespace headroom {

/// Rows of each table if ReportOptions::top is absent.
inline constexpr std::size_t kMarkdownTop = 5;

/// Default maximum size, in bytes.
inline constexpr std::size_t kMarkdownBytes = 20'000;

/// Returns verdict, step time, breakdown, findings with check commands, the largest kernels and
/// operators, and issues of the trace. The figures are those of the text report. The format is
/// GitHub-flavoured Markdown. Markup in names has no effect. Requires that `files` is not empty,
/// and max_bytes >= 200.
///
/// The result has at most `max_bytes`: it first drops rows of tables, then cuts the end after a
/// line. Each shortened list states the number of omitted rows, and the command that shows them.
std::string RenderMarkdown(std::span<const TraceReport> files, const ReportOptions& options,
                           std::size_t max_bytes = kMarkdownBytes);

}  // namespace headroom
