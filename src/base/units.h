// Nanoseconds as numbers for computations; base/time.h has the time types.
#pragma once

namespace headroom {

inline constexpr double kNsPerUs = 1e3, kNsPerMs = 1e6, kNsPerS = 1e9;

}  // namespace headroom
