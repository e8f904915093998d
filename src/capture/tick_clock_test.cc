#include "capture/tick_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "headroom/detail/clock.h"

namespace headroom {
namespace tick_clock_test {

/// Returns a clock with one real reading.
TickClock Made() {
  TickClock clock(HEADROOM_CLOCK_MONOTONIC_RAW);
  return clock;
}

TEST(TickClockTest, TellsTheTimeOfTicksJustRead) {
  const std::uint32_t kind =
      headroom_impl_has_counter() != 0 ? HEADROOM_CLOCK_COUNTER : HEADROOM_CLOCK_MONOTONIC_RAW;
  TickClock clock(kind);
  for (int i = 0; i < 30; ++i) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
    nanosleep(&pause, nullptr);
    clock.Anchor();
    const headroom_impl_anchor now = headroom_impl_anchor_now(kind);
    const std::int64_t off = clock.TimeOf(now.ticks).ns() - static_cast<std::int64_t>(now.ns);
    // The bound is loose: a thread that runs between two readings makes a pair inaccurate.
    EXPECT_LT(std::abs(off), 1'000'000) << i;
  }
}

TEST(TickClockTest, FollowsARateThatChanges) {
  TickClock clock = Made();
  const headroom_impl_anchor zero = headroom_impl_anchor_now(HEADROOM_CLOCK_MONOTONIC_RAW);
  // The test supplies the readings from here on, 1 s apart.
  std::uint64_t ticks = zero.ticks + 2'000'000'000;
  std::int64_t time = static_cast<std::int64_t>(zero.ns) + 2'000'000'000;
  clock.AnchorAt(ticks, TimeNs(time));
  for (const double rate : {1.0, 1.000100, 0.999900}) {
    ticks += static_cast<std::uint64_t>(1e9 * rate);
    time += 1'000'000'000;
    clock.AnchorAt(ticks, TimeNs(time));
    EXPECT_EQ(clock.TimeOf(ticks).ns(), time);
    EXPECT_NEAR(static_cast<double>(clock.TimeOf(ticks + 1'000'000).ns() - time), 1e6 / rate, 2);
  }
  // The change from +100 ppm to -100 ppm makes a difference of 200,000 ns in 1 s.
  EXPECT_NEAR(static_cast<double>(clock.residual().ns()), 200'000, 100);
}

TEST(TickClockTest, GoesOnWhereTheCounterBeganAgain) {
  TickClock clock = Made();
  const headroom_impl_anchor now = headroom_impl_anchor_now(HEADROOM_CLOCK_MONOTONIC_RAW);
  const auto later = static_cast<std::int64_t>(now.ns) + 1'000'000'000;
  clock.AnchorAt(1000, TimeNs(later));
  EXPECT_NEAR(static_cast<double>(clock.TimeOf(2000).ns() - later), 1000, 5);
}

TEST(TickClockTest, WildTicksHaveATime) {
  const TickClock clock = Made();
  const std::uint64_t now = headroom_impl_anchor_now(HEADROOM_CLOCK_MONOTONIC_RAW).ticks;
  // Beyond the clamp, both ticks give the same time.
  constexpr std::uint64_t kFar = 5'000'000'000'000'000'000;
  EXPECT_EQ(clock.TimeOf(now + kFar), clock.TimeOf(now + kFar + 1'000'000'000));
  EXPECT_EQ(clock.TimeOf(now - kFar), clock.TimeOf(now - kFar - 1'000'000'000));
  EXPECT_LT(clock.TimeOf(now - kFar), clock.TimeOf(now));
  EXPECT_LT(clock.TimeOf(now), clock.TimeOf(now + kFar));
}

TEST(TickClockTest, ReadingsThatRunBackwardsChangeNothing) {
  TickClock clock = Made();
  const TimeNs before = clock.TimeOf(1'000'000);
  clock.AnchorAt(1, TimeNs(5));
  EXPECT_EQ(clock.TimeOf(1'000'000), before);
}

}  // namespace tick_clock_test
}  // namespace headroom
