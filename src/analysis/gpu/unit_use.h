// How busy the units of a GPU are, by samples of its hardware counters.
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

/// Samples of the counters that say in per cent how busy multiprocessors, tensor cores and the
/// device's memory are: CUPTI's PM sampling in traces of PyTorch's profiler and of Nsight Systems,
/// or counters of these names in any trace. A sample holds until the next one of its counter.
class UnitSamples {
 public:
  explicit UnitSamples(const TraceStore& store);

  /// Whether there are none; then all figures are unknown.
  bool empty() const { return samples_.empty(); }

  /// The mean over the times on a device. Each figure: unknown where samples cover less than half
  /// of them.
  UnitUse MeanOver(DeviceId device, const IntervalSet& times) const;

  /// By the name of GPU tasks: the mean over those samples during which nothing else ran, in 9
  /// tenths of the sample or more. A sample that spans several kernels tells of none of them.
  std::map<StringId, UnitUse> MeansByName(const TraceStore& store) const;

 private:
  /// Some profilers report reads and writes apart; their sum is kMemory.
  enum class Unit { kMultiprocessor, kTensorCore, kMemory, kMemoryRead, kMemoryWrite };
  struct Sample {
    Interval time;
    double pct;
  };
  struct Metric {
    std::optional<Unit> unit = std::nullopt;
    bool is_percent = false;     ///< Whatever its unit.
    bool of_dispatches = false;  ///< Measured while a dispatch runs, else 0.
  };
  static Metric MetricOf(std::string_view counter);
  static std::optional<double>& FigureOf(UnitUse& use, Unit unit);
  void AddReadsAndWrites();
  void KeepDispatches(const TraceStore& store, const std::set<Unit>& units);

  std::map<std::pair<DeviceId, Unit>, std::vector<Sample>>
      samples_;  ///< In order of time, without overlap.
};

}  // namespace headroom
