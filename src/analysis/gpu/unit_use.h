// Utilization of a GPU's units, from samples of its hardware counters.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Samples of counters that state, in per cent, the utilization of multiprocessors, tensor cores
/// and device memory. Sources are CUPTI's PM sampling in traces of PyTorch's profiler and of Nsight
/// Systems, or counters of these names in any trace. A sample is valid until the next sample of the
/// same counter.
class UnitSamples {
 public:
  explicit UnitSamples(const TraceStore& store);

  /// Returns true if there are no samples; then all figures are unknown.
  bool empty() const { return samples_.empty(); }

  /// Returns the mean over the times on a device. A figure is unknown if samples cover less than
  /// half of these times.
  UnitUse MeanOver(DeviceId device, const IntervalSet& times) const;

  /// Returns the means by name of GPU task. Uses samples in which nothing else ran for at least 90
  /// % of the sample. Ignores a sample that spans several kernels.
  std::map<StringId, UnitUse> MeansByName(const TraceStore& store) const;

 private:
  /// Some profilers report reads and writes separately; their sum is kMemory.
  enum class Unit { kMultiprocessor, kTensorCore, kMemory, kMemoryRead, kMemoryWrite };
  struct Sample {
    Interval time;
    double pct;
  };
  struct Metric {
    std::optional<Unit> unit = std::nullopt;
    bool is_percent = false;     ///< The counter is a percentage, even if its unit is not "%".
    bool of_dispatches = false;  ///< Measures only while a dispatch runs; else reads 0.
  };
  static Metric MetricOf(std::string_view counter);
  static std::optional<double>& FigureOf(UnitUse& use, Unit unit);
  void AddReadsAndWrites();
  void KeepDispatches(const TraceStore& store, const std::set<Unit>& units);

  std::map<std::pair<DeviceId, Unit>, std::vector<Sample>>
      samples_;  ///< In order of time, without overlap.
};

}  // namespace headroom
