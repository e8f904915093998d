// Listening sockets on loopback, reachable only from this machine.
#pragma once

#include "base/status.h"

namespace httplib {  // NOLINT(readability-identifier-naming): the name that the library has.
class Server;
}

namespace headroom {

inline constexpr const char* kLoopback = "127.0.0.1";

/// Binds a server exclusively to a port of 127.0.0.1; 0: any free port. Returns the port. Fails
/// (kUsage) if the port is in use.
Result<int> BindToLoopback(httplib::Server& server, int port);

/// Reserves a port of 127.0.0.1 for a server that starts later.
class HeldPort {
 public:
  /// Fails (kUsage) if the port is in use. 0 reserves nothing.
  static Result<HeldPort> Take(int port);
  HeldPort(HeldPort&& other) noexcept;
  HeldPort& operator=(HeldPort&&) = delete;
  ~HeldPort() { Release(); }

  /// Call directly before the server binds the port.
  void Release();

 private:
  explicit HeldPort(int socket) : socket_(socket) {}
  int socket_;
};

}  // namespace headroom
