// Where servers of this program listen: on this machine alone.
#pragma once

#include "base/status.h"

namespace httplib {  // NOLINT(readability-identifier-naming): the name that the library has.
class Server;
}

namespace headroom {

inline constexpr const char* kLoopback = "127.0.0.1";

/// Binds a server to a port of 127.0.0.1, which no other program then shares with it; 0: any that
/// is free. Returns the port. Fails (kUsage) where it is taken.
Result<int> BindToLoopback(httplib::Server& server, int port);

}  // namespace headroom
