// One JSON object a sample, on a line: format headroom.monitor/1 (docs/metrics.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/metrics/metric.h"

namespace headroom::cli {

/// With its line end. `unix_ns`: the time of day of the sample, nanoseconds since 1970.
std::string MetricLine(const std::vector<Metric>& metrics, const Reading& reading,
                       std::int64_t unix_ns);

/// "2026-11-22T00:20:43.123456789Z".
std::string UtcTime(std::int64_t unix_ns);

}  // namespace headroom::cli
