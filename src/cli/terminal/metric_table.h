// The live table of `headroom monitor`: what each metric is, and how it went.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "capture/metrics/board/metric.h"
#include "render/escape.h"

namespace headroom::cli {

/// Bars of one column each for the last `width` values, from 0 to `most`; a missing one is blank.
std::string Sparkline(const std::deque<double>& values, std::size_t width, double most,
                      Charset charset);

/// "12.3 %", "1.15 GB/s"; "-" where it is missing.
std::string FormatMetric(double value, std::string_view unit);

class MetricTable {
 public:
  void Add(const std::vector<Metric>& metrics, const Reading& reading);

  /// At most `height` lines of at most `width` columns; where it is narrow, bars go first, then
  /// names become short, and numbers stay whole. Metrics that never had a value, or were 0 all the
  /// time, are left out, but those that people look for first.
  std::vector<std::string> Render(const std::string& title, std::size_t width, std::size_t height,
                                  Charset charset) const;

 private:
  struct Row {
    Metric metric;
    std::deque<double> values;  ///< The last ones, oldest first.
    bool shown = false;         ///< Has had a value to show.
  };

  std::vector<Row> rows_;
  std::vector<ResourceUser> users_;
};

}  // namespace headroom::cli
