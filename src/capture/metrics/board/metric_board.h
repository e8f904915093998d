// The board holds the metrics and the current sample. Sources write to it, and it converts counters
// to rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/board/metric.h"

namespace headroom {

/// Conversion of a counter to a rate and a total.
struct CounterRule {
  double rate_scale = 1;   ///< Rate = increase x this / seconds.
  double total_scale = 1;  ///< Scale of the total in `Metric::counter`.
  /// The counter counts modulo this. 0: unknown; a counter that went backwards then gives no rate.
  std::uint64_t wraps_at = 0;
};

class MetricBoard {
 public:
  using Id = std::size_t;

  Id AddGauge(Metric metric);
  Id AddShare(Metric metric);
  Id AddRate(Metric metric, CounterRule rule = CounterRule());
  /// Adds a metric whose value is the counter times `scale`.
  Id AddTotal(Metric metric, double scale = 1);

  /// Adds a metric whose value and total another board computes. It keeps its kind there.
  Id AddComputed(Metric metric);

  /// Assigns the metric to another instance, whose counter starts anew.
  void Rename(Id id, std::string instance);

  const std::vector<Metric>& metrics() const { return metrics_; }
  const Reading& reading() const { return reading_; }
  std::vector<ResourceUser>& users() { return reading_.users; }

  /// Begins a sample: all values are missing.
  void Begin();
  void SetTime(TimeNs time) { reading_.time = time; }
  /// Sets a value. Values that are not finite are missing.
  void Set(Id id, double value);
  /// Reports the reading of a kRate or kTotal counter. nullopt: the increase since the last reading
  /// is unknown, so the next rate is missing.
  void Count(Id id, TimeNs at, std::optional<std::uint64_t> counted);
  /// Sets the value and total of a metric from AddComputed().
  void SetComputed(Id id, double value, double total) {
    reading_.values[id] = value;
    reading_.totals[id] = total;
  }
  /// Removes the rates and shares of this sample: their interval is too short.
  void DropRates();

 private:
  struct Counter {
    CounterRule rule;
    std::optional<std::uint64_t> last;
    TimeNs at;
    double wrapped = 0;  ///< Sum counted before the last wrap.
  };

  Id Add(Metric metric, MetricKind kind, CounterRule rule);

  std::vector<Metric> metrics_;
  std::vector<Counter> counters_;
  Reading reading_;
};

/// Sum of counters that come and go (disks, interfaces), as one growing counter. It adds each
/// counter's growth since its last reading, independent of the others.
class CounterSum {
 public:
  /// `last` is the same counter's value in the previous sample; nullopt if it is new. A new counter
  /// adds nothing, except in the first sample, where it adds its value.
  void Add(std::optional<std::uint64_t> last, std::uint64_t now);
  /// Ends a sample. Returns the sum, or nullopt if one of its counters went backwards.
  std::optional<std::uint64_t> Take();

 private:
  std::uint64_t sum_ = 0;
  bool first_ = true;
  bool backwards_ = false;
};

}  // namespace headroom
