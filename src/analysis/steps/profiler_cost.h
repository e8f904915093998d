// Rough cost of recording, so that a verdict does not blame the job for the profiler.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace headroom {

/// Host time that the profiler takes per recorded operator range and per recorded API call, in
/// nanoseconds. Source: least squares over host-bound training jobs on one H200 machine (16 cores,
/// PyTorch 2.11). The error on other hosts is unknown, so this only decides whether a verdict on
/// the host is possible. Corrected step times need a calibration.
inline constexpr DurationNs kCostPerOperator{1600};
inline constexpr DurationNs kCostPerCall{1100};

inline DurationNs RoughProfilerCost(std::int64_t operators, std::int64_t calls) {
  return DurationNs(operators * kCostPerOperator.ns() + calls * kCostPerCall.ns());
}

}  // namespace headroom
