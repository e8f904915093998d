// `headroom report --md`: the report in some 60 lines, for pull requests and coding agents.
#pragma once

#include <span>
#include <string>

#include "analysis/report.h"
#include "report/job_report.h"

namespace headroom {

/// Verdict, step time, breakdown, findings with their check commands, the largest kernels and
/// operators (five each unless `options.top` says otherwise), and what is wrong with the trace.
/// Figures as in the text report. GitHub-flavoured; nothing in a name acts. REQUIRES: `files` is
/// not empty.
std::string RenderMarkdown(std::span<const TraceReport> files, const ReportOptions& options);

}  // namespace headroom
