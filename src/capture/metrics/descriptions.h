// What each metric means, in a sentence: the same words as in docs/metrics.md.
#pragma once

#include <string_view>

namespace headroom {

struct MetricDescription {
  std::string_view name;
  std::string_view about;
};

/// Empty for a name that is none.
std::string_view DescribeMetric(std::string_view name);

}  // namespace headroom
