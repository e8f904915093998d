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

/// A port of 127.0.0.1 that is kept for a server which starts later.
class HeldPort {
 public:
  /// Fails (kUsage) where it is taken. 0: nothing is held.
  static Result<HeldPort> Take(int port);
  HeldPort(HeldPort&& other) noexcept;
  HeldPort& operator=(HeldPort&&) = delete;
  ~HeldPort() { Release(); }

  /// Just before the server binds to it.
  void Release();

 private:
  explicit HeldPort(int socket) : socket_(socket) {}
  int socket_;
};

}  // namespace headroom
