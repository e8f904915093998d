// Converts a measured process's ticks to CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace headroom {

/// Maps ticks (headroom/detail/clock.h) to nanoseconds of CLOCK_MONOTONIC through repeated pairs of
/// readings. Assumes that both clocks run at constant rates between two pairs. This is an
/// approximation, because NTP adjusts the rate of CLOCK_MONOTONIC.
class TickClock {
 public:
  /// @param clock  HEADROOM_CLOCK_COUNTER or HEADROOM_CLOCK_MONOTONIC_RAW
  explicit TickClock(std::uint32_t clock);

  /// Reads both clocks. Updates the rate if the previous update was at least 100 ms ago.
  void Anchor();
  /// For tests: Anchor() with the given readings.
  void AnchorAt(std::uint64_t ticks, TimeNs time);

  /// Converts ticks with the latest rate. Times of older ticks therefore ignore earlier rates.
  TimeNs TimeOf(std::uint64_t ticks) const;

  /// Time of the last reading plus a margin of 1 s: no event is later.
  TimeNs Latest() const { return latest_ + DurationNs(1'000'000'000); }

  /// Largest difference between a new pair of readings and the prediction from earlier ones.
  DurationNs residual() const { return residual_; }
  std::uint32_t clock() const { return clock_; }

 private:
  std::uint32_t clock_;
  std::uint64_t ticks_ = 0;  ///< Reading at the last update of the rate, as is time_.
  TimeNs time_;
  double ns_per_tick_ = 1;
  bool has_rate_ = false;
  DurationNs residual_;
  TimeNs latest_;
};

}  // namespace headroom
