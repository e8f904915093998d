// The live table of `headroom monitor`: each metric with its value and history.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "capture/metrics/board/metric.h"
#include "render/escape.h"

namespace headroom::cli {

/// Returns bars of one column each for the last `width` values, from 0 to `most`. A missing value
/// is blank.
std::string Sparkline(const std::deque<double>& values, std::size_t width, double most,
                      Charset charset);

/// Returns text such as "12.3 %" or "1.15 GB/s"; "-" for a missing value.
std::string FormatMetric(double value, std::string_view unit);

class MetricTable {
 public:
  void Add(const std::vector<Metric>& metrics, const Reading& reading);

  /// Returns at most `height` lines of at most `width` columns. Narrow tables first drop bars, then
  /// shorten names; numbers stay complete. Omits metrics that never had a value or were always 0,
  /// except the most used ones.
  std::vector<std::string> Render(const std::string& title, std::size_t width, std::size_t height,
                                  Charset charset) const;

 private:
  struct Row {
    Metric metric;
    std::deque<double> values;  ///< The most recent values, oldest first.
    bool shown = false;         ///< True after the metric had a value to show.
  };

  std::vector<Row> rows_;
  std::vector<ResourceUser> users_;
};

}  // namespace headroom::cli
