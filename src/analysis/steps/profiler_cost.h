// A rough price of recording, to keep a verdict from blaming the job for the profiler.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace headroom {

/// Host time that the profiler takes per recorded operator range and per recorded API call, in
/// nanoseconds: least squares over host-bound training jobs on one H200 machine (16 cores,
/// PyTorch 2.11). Its error on other hosts is not known, so this only decides whether a
/// verdict on the host can be given; corrected step times need a calibration.
inline constexpr DurationNs kCostPerOperator{1600};
inline constexpr DurationNs kCostPerCall{1100};

inline DurationNs RoughProfilerCost(std::int64_t operators, std::int64_t calls) {
  return DurationNs(operators * kCostPerOperator.ns() + calls * kCostPerCall.ns());
}

}  // namespace headroom
