// The clock of all samples: CLOCK_MONOTONIC, as in the recording.
#pragma once

#include <ctime>

#include "base/time.h"

namespace headroom {

inline TimeNs ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return TimeNs(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

inline TimeNs MonotonicNow() { return ReadClock(CLOCK_MONOTONIC); }

/// Returns the midpoint of two times.
inline TimeNs Middle(TimeNs a, TimeNs b) { return a + DurationNs((b - a).ns() / 2); }

inline double Seconds(DurationNs duration) { return static_cast<double>(duration.ns()) / 1e9; }

}  // namespace headroom
