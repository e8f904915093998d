// httplib's server with limits for slow, silent and endless clients.
#pragma once

#include <httplib.h>

#include <atomic>

namespace headroom {

/// Limits the time and the size of each request, and disconnects clients that stop reading an
/// answer. httplib alone restarts its timeout at each byte and reads headers without limit. While
/// all threads are busy and connections wait, the server disconnects idle clients sooner.
///
/// Serves no request that needs a body. Answers a request with a body, then closes the connection,
/// so that the body never counts as the next request.
///
/// Ignores requests for parts of a file (`Range`): many parts of a large answer would exist in
/// memory at once.
class BoundedServer : public httplib::Server {
 public:
  BoundedServer();

  /// Allows as many connections to wait for a thread as the system permits. httplib allows five,
  /// and further clients retry after a second. REQUIRES: bound to a port.
  void DeepenBacklog();

  /// Returns true if bytes follow the headers.
  static bool HasBody(const httplib::Request& request);

  /// Returns true if the client of this thread's request still waits and the server keeps running.
  /// Also true in threads without a request. A client that closed its sending side counts as
  /// disconnected: browsers never do that while they wait.
  static bool IsAwaited();

 private:
  std::atomic<int> waiting_ = 0;  ///< Connections that wait for a thread.
  bool process_and_close_socket(socket_t socket) override;
};

}  // namespace headroom
