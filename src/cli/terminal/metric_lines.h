// One JSON object a sample, on a line: format headroom.monitor/1 (docs/metrics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric.h"

namespace headroom::cli {

/// Writes the lines of one sampler. Keys are turned into JSON once: at ten samples per second they
/// would take more time than the values.
class MetricLines {
 public:
  /// With its line end; until the next call. `unix_ns`: the time of day of the sample, nanoseconds
  /// since 1970. REQUIRES: a metric keeps its name and its place from call to call.
  std::string_view LineOf(const std::vector<Metric>& metrics, const Reading& reading,
                          std::int64_t unix_ns);

 private:
  struct Value {
    std::string before;  ///< The JSON between the value before and this one.
    std::size_t metric;
  };
  void Describe(const std::vector<Metric>& metrics);

  std::vector<std::string> described_;  ///< Instances of the metrics that values_ knows of.
  std::vector<Value> values_;
  bool ends_in_object_ = false;  ///< Whether the last value has an instance.
  std::string line_;
};

/// "2026-11-22T00:20:43.123456789Z".
std::string UtcTime(std::int64_t unix_ns);

}  // namespace headroom::cli
