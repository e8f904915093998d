#include "capture/tick_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "headroom/detail/clock.h"

namespace headroom {
namespace {

/// Shortest time between two updates of the rate. Readings are off by about 30 ns, so the rate is
/// off by 0.3 ppm.
constexpr std::int64_t kStretchNs = 100'000'000;

}  // namespace

TickClock::TickClock(std::uint32_t clock) : clock_(clock) { Anchor(); }

void TickClock::Anchor() {
  const headroom_impl_anchor now = headroom_impl_anchor_now(clock_);
  AnchorAt(now.ticks, TimeNs(static_cast<std::int64_t>(now.ns)));
}

void TickClock::AnchorAt(std::uint64_t ticks, TimeNs time) {
  if (ticks_ == 0) {
    ticks_ = ticks;
    time_ = latest_ = time;
    return;
  }
  const std::int64_t passed = (time - time_).ns();
  latest_ = std::max(latest_, time);
  if (has_rate_ && passed < kStretchNs) return;
  if (passed <= 0) return;
  if (ticks <= ticks_) {  // The counter restarted, as it may after a suspend.
    ticks_ = ticks;
    time_ = time;
    return;
  }
  if (has_rate_) {
    const DurationNs off = time - TimeOf(ticks);
    residual_ = std::max(residual_, DurationNs(std::abs(off.ns())));
  }
  // The first rate may come from a shorter time and is soon replaced.
  has_rate_ = passed >= kStretchNs;
  ns_per_tick_ = static_cast<double>(passed) / static_cast<double>(ticks - ticks_);
  if (has_rate_) {
    ticks_ = ticks;
    time_ = time;
  }
}

TimeNs TickClock::TimeOf(std::uint64_t ticks) const {
  // The difference is small enough for a double; the sum would be too large.
  const auto off = static_cast<std::int64_t>(ticks - ticks_);
  // Ticks can have any value. Beyond this limit, rounding overflows.
  constexpr double kFarthest = 4e18;
  const double ns = std::clamp(static_cast<double>(off) * ns_per_tick_, -kFarthest, kFarthest);
  return TimeNs(0) + ((time_ - TimeNs(0)) + DurationNs(std::llround(ns)));
}

}  // namespace headroom
