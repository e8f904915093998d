// The main figures of a report in the OpenMetrics text format, version 1.0.0.
#pragma once

#include <span>
#include <string>

#include "analysis/values/report.h"

namespace headroom {

/// Gauges named `headroom_...` in base units (seconds, bytes, ratio), each sample with the label
/// `rank` where the rank is known; a figure that is not known is left out. docs/export.md lists
/// them: names and labels are kept from version to version. Ends with `# EOF`.
std::string OpenMetricsText(std::span<const TraceReport> files);

}  // namespace headroom
