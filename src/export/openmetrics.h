// The main figures of a report in the OpenMetrics text format, version 1.0.0.
#pragma once

#include <span>
#include <string>

#include "analysis/values/report.h"

namespace headroom {

/// Returns gauges named `headroom_...` in base units (seconds, bytes, ratio). Each sample has the
/// label `rank` if the rank is known. Unknown figures are omitted. docs/export.md lists the names
/// and labels, which stay the same between versions. Ends with `# EOF`.
std::string OpenMetricsText(std::span<const TraceReport> files);

}  // namespace headroom
