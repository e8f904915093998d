// Counters over time, no finer than a chart draws them.
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

/// Equal parts of the recording.
inline constexpr int kCurveBuckets = 256;

/// The samples of a counter in one part, of which there is at least one.
struct CurveBucket {
  int index = 0;
  double least = 0, mean = 0, most = 0;
};

/// One counter of one process.
struct MetricCurve {
  std::string instance;  ///< As in the row of the report.
  ThreadId thread;       ///< One that sampled it.
  std::vector<CurveBucket> buckets;
};

/// A metric by name and unit, as in the rows of the report.
struct MetricCurves {
  std::string name, unit;
  std::vector<MetricCurve> curves;
  std::int64_t left_out = 0;  ///< Curves that would have been too many: those that vary least.
};

/// Of [begin, end]. Values that are no finite number, and times outside, are left out, as are
/// metrics of which nothing remains. By name.
std::vector<MetricCurves> CurvesOfMetrics(const TraceStore& store, TimeNs begin, TimeNs end);

/// When the first and the last sample was taken; none: there is no sample.
std::optional<std::pair<TimeNs, TimeNs>> RangeOfMetrics(const TraceStore& store);

}  // namespace headroom
