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
  double total_scale = 1;  ///< Factor from the counter to the unit of `Metric::counter`.
  /// Modulus of the counter. 0: unknown; a counter that goes backwards then gives no rate.
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

  /// Adds a metric whose value and total another board computes. The metric keeps its kind.
  Id AddComputed(Metric metric);

  /// Assigns the metric to another instance, whose counter starts anew.
  void Rename(Id id, std::string instance);

  const std::vector<Metric>& metrics() const { return metrics_; }
  const Reading& reading() const { return reading_; }
  std::vector<ResourceUser>& users() { return reading_.users; }

  /// Begins a sample: all values are missing.
  void Begin();
  void SetTime(TimeNs time) { reading_.time = time; }
  /// Sets a value. A value that is not finite counts as missing.
  void Set(Id id, double value);
  /// Reports the reading of a kRate or kTotal counter. nullopt: unknown, so the rates of this and
  /// the next sample are missing.
  void Count(Id id, TimeNs at, std::optional<std::uint64_t> counted);
  /// Sets the value and total of a metric from AddComputed().
  void SetComputed(Id id, double value, double total) {
    reading_.values[id] = value;
    reading_.totals[id] = total;
  }
  /// Removes the rates and shares of this sample, because their interval is too short.
  void DropRates();

 private:
  struct Counter {
    CounterRule rule;
    std::optional<std::uint64_t> last;
    TimeNs at;
    double wrapped = 0;  ///< Number of wraps so far times the modulus.
  };

  Id Add(Metric metric, MetricKind kind, CounterRule rule);

  std::vector<Metric> metrics_;
  std::vector<Counter> counters_;
  Reading reading_;
};

/// Sum of counters that may appear and disappear, such as those of disks, as one counter that only
/// grows. Adds each counter's increase since its previous reading.
class CounterSum {
 public:
  /// `last` is the same counter's value in the previous sample; nullopt if it is new. A new counter
  /// adds nothing, except in the first sample, where it adds its value.
  void Add(std::optional<std::uint64_t> last, std::uint64_t now);
  /// Ends a sample. Returns the sum; nullopt if a counter went backwards in this sample.
  std::optional<std::uint64_t> Take();

 private:
  std::uint64_t sum_ = 0;
  bool first_ = true;
  bool backwards_ = false;
};

}  // namespace headroom
