// The metrics that there are, and the sample in the making: sources write here, and counters become
// rates here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/board/metric.h"

namespace headroom {

/// How a counter becomes a rate and a total.
struct CounterRule {
  double rate_scale = 1;   ///< Of the rate: increase x this / seconds.
  double total_scale = 1;  ///< Of the total in `Metric::counter`.
  /// Where the counter is known to begin again: it then counts modulo this. 0: unknown, so that a
  /// counter that went backwards says nothing.
  std::uint64_t wraps_at = 0;
};

class MetricBoard {
 public:
  using Id = std::size_t;

  Id AddGauge(Metric metric);
  Id AddShare(Metric metric);
  Id AddRate(Metric metric, CounterRule rule = CounterRule());
  /// Its value is the counter times `scale`.
  Id AddTotal(Metric metric, double scale = 1);

  /// One whose value and total another board computes, of the kind that it has there.
  Id AddComputed(Metric metric);

  /// The metric is from here on of another instance, whose counter begins anew.
  void Rename(Id id, std::string instance);

  const std::vector<Metric>& metrics() const { return metrics_; }
  const Reading& reading() const { return reading_; }
  std::vector<ResourceUser>& users() { return reading_.users; }

  /// Begins a sample: every value is missing.
  void Begin();
  void SetTime(TimeNs time) { reading_.time = time; }
  /// Values that are not finite are missing.
  void Set(Id id, double value);
  /// What the counter of a kRate or kTotal stood at. nullopt: what it counted since last time is
  /// unknown, so the next rate is missing, too.
  void Count(Id id, TimeNs at, std::optional<std::uint64_t> counted);
  /// Of AddComputed().
  void SetComputed(Id id, double value, double total) {
    reading_.values[id] = value;
    reading_.totals[id] = total;
  }
  /// Takes the rates and shares of this sample back: their interval is too short to mean anything.
  void DropRates();

 private:
  struct Counter {
    CounterRule rule;
    std::optional<std::uint64_t> last;
    TimeNs at;
    double wrapped = 0;  ///< What was counted before the last wrap.
  };

  Id Add(Metric metric, MetricKind kind, CounterRule rule);

  std::vector<Metric> metrics_;
  std::vector<Counter> counters_;
  Reading reading_;
};

/// The sum of counters that come and go (disks, interfaces), as one that only grows: what each has
/// counted since it was last seen, whoever else is there.
class CounterSum {
 public:
  /// `last` is what the same counter stood at in the sample before, nullopt where it is new; it
  /// then adds nothing but in the first sample, which it gives its level.
  void Add(std::optional<std::uint64_t> last, std::uint64_t now);
  /// Ends a sample: the sum, or nullopt where one of its counters went backwards.
  std::optional<std::uint64_t> Take();

 private:
  std::uint64_t sum_ = 0;
  bool first_ = true;
  bool backwards_ = false;
};

}  // namespace headroom
