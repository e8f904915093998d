// Durations in the units of the tests.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace headroom {

inline DurationNs Us(std::int64_t us) { return DurationNs(us * 1000); }

}  // namespace headroom
