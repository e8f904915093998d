// From a measured process's ticks to CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace headroom {

/// Maps ticks (headroom/detail/clock.h) to nanoseconds of CLOCK_MONOTONIC through pairs of readings
/// that are taken again and again: between two of them the clocks are taken to run at one rate
/// each. CLOCK_MONOTONIC does not quite: time servers speed it up and slow it down.
class TickClock {
 public:
  /// @param clock  HEADROOM_CLOCK_COUNTER or HEADROOM_CLOCK_MONOTONIC_RAW
  explicit TickClock(std::uint32_t clock);

  /// Reads both clocks. From 100 ms after the last one on it becomes the end of a new stretch.
  void Anchor();
  /// For tests: what Anchor() would have read.
  void AnchorAt(std::uint64_t ticks, TimeNs time);

  /// Good from the last stretch on; older ticks are off by what the rate has changed since.
  TimeNs TimeOf(std::uint64_t ticks) const;

  /// The time of the last reading, and some: no event is later.
  TimeNs Latest() const { return latest_ + DurationNs(1'000'000'000); }

  /// The most by which a new pair of readings was off what the ones before foretold.
  DurationNs residual() const { return residual_; }
  std::uint32_t clock() const { return clock_; }

 private:
  std::uint32_t clock_;
  std::uint64_t ticks_ = 0;  ///< The end of the last stretch.
  TimeNs time_;
  double ns_per_tick_ = 1;
  bool has_rate_ = false;
  DurationNs residual_;
  TimeNs latest_;
};

}  // namespace headroom
