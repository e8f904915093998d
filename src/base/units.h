// Nanoseconds as numbers, where times are computed with; as times: base/time.h.
#pragma once

namespace headroom {

inline constexpr double kNsPerUs = 1e3, kNsPerMs = 1e6, kNsPerS = 1e9;

}  // namespace headroom
