// Listening sockets on loopback, reachable only from this machine.
#pragma once

#include <string>

#include "base/status.h"

namespace httplib {  // NOLINT(readability-identifier-naming): the name that the library has.
class Server;
}

namespace headroom {

inline constexpr const char* kLoopback = "127.0.0.1";

/// Binds a server exclusively to a port of an address of this machine; port 0: any free one.
/// Returns the port. Fails (kUsage) if the port is in use, or the address is not this machine's.
Result<int> BindTo(httplib::Server& server, const std::string& address, int port);

/// The same on 127.0.0.1.
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
