// Writes one JSON object per sample, each on a line: format headroom.monitor/1 (docs/metrics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric.h"

namespace headroom::cli {

/// Writes the lines of one sampler. Converts keys to JSON only once: at ten samples per second they
/// would cost more than the values.
class MetricLines {
 public:
  /// Returns the line with its newline, valid until the next call. `unix_ns` is the wall-clock time
  /// of the sample, in nanoseconds since 1970. Requires that a metric keeps its name and its place
  /// from call to call.
  std::string_view LineOf(const std::vector<Metric>& metrics, const Reading& reading,
                          std::int64_t unix_ns);

 private:
  struct Value {
    std::string before;  ///< The JSON between the previous value and this one.
    std::size_t metric;
  };
  void Describe(const std::vector<Metric>& metrics);

  std::vector<std::string> described_;  ///< Instances of the metrics in values_.
  std::vector<Value> values_;
  bool ends_in_object_ = false;  ///< True if the last value has an instance.
  std::string line_;
};

/// Returns a time such as "2026-11-22T00:20:43.123456789Z".
std::string UtcTime(std::int64_t unix_ns);

}  // namespace headroom::cli
