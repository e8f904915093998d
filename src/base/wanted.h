// Work that may become pointless while it is done.
#pragma once

#include <functional>

namespace headroom {

/// Whether somebody still waits for the result; asked now and then, by the thread that works.
using IsWanted = std::function<bool()>;

/// Of what is always waited for.
inline bool AlwaysWanted() { return true; }

}  // namespace headroom
