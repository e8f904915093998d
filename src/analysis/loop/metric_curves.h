// Counters over time, at the resolution of a chart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// Number of equal parts into which the curves divide the recording.
inline constexpr int kCurveBuckets = 256;

/// Samples of a counter in one part of the recording; at least one.
struct CurveBucket {
  int index = 0;
  double least = 0, mean = 0, most = 0;
};

/// One counter of one process.
struct MetricCurve {
  std::string instance;  ///< As in MetricRow.
  ThreadId thread;       ///< A thread that sampled it.
  std::vector<CurveBucket> buckets;
};

/// All curves of one metric, identified by name and unit as in MetricRow.
struct MetricCurves {
  std::string name, unit;
  std::vector<MetricCurve> curves;
  std::int64_t left_out = 0;  ///< Number of curves over the limit; the flattest ones are dropped.
};

/// Returns the curves over [begin, end] by name. Drops values that are not finite, samples outside
/// the window, and metrics without remaining samples.
std::vector<MetricCurves> CurvesOfMetrics(const TraceStore& store, TimeNs begin, TimeNs end);

/// Returns the times of the first and the last sample, or nullopt without samples.
std::optional<std::pair<TimeNs, TimeNs>> RangeOfMetrics(const TraceStore& store);

}  // namespace headroom
