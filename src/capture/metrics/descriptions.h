// One-sentence description of each metric, equal to docs/metrics.md.
#pragma once

#include <string_view>

namespace headroom {

struct MetricDescription {
  std::string_view name;
  std::string_view about;
};

/// Returns the description of a metric; empty if the name is unknown.
std::string_view DescribeMetric(std::string_view name);

}  // namespace headroom
