// Cancellation of work whose result is no longer needed.
#pragma once

#include <functional>

namespace headroom {

/// Returns true while the result is still needed. The working thread calls it from time to time.
using IsWanted = std::function<bool()>;

/// Returns true: the result is always needed.
inline bool AlwaysWanted() { return true; }

}  // namespace headroom
