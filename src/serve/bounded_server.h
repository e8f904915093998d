// httplib's server for clients that may be slow, silent or without end.
#pragma once

#include <httplib.h>

#include <atomic>

namespace headroom {

/// Each request has a time in which it must be there, and a size; who takes nothing of an answer is
/// let go, too. httplib itself waits anew for each byte, and reads headers as long as there are
/// any. While all threads are taken and others wait, who sends nothing is let go sooner.
///
/// Serves no request that needs a body. Answers a request with a body, then closes the connection,
/// so that the body never counts as the next request.
///
/// Answers no part of a file alone (`Range`): many parts of a large answer would be made at once.
class BoundedServer : public httplib::Server {
 public:
  BoundedServer();

  /// Lets as many connections wait for a thread as the system allows; httplib lets five, and more
  /// try again after a second. REQUIRES: bound to a port.
  void DeepenBacklog();

  /// Whether anything follows the headers.
  static bool HasBody(const httplib::Request& request);

  /// Whether the client of the request that this thread answers still waits, and the server is to
  /// go on. True in threads that answer none. One that has sent all it had and closed its side has
  /// gone: no browser does that and waits.
  static bool IsAwaited();

 private:
  std::atomic<int> waiting_ = 0;  ///< Connections that no thread has taken.
  bool process_and_close_socket(socket_t socket) override;
};

}  // namespace headroom
