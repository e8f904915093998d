#include "serve/loopback.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cerrno>
#include <cstring>

namespace headroom {

Result<int> BindToLoopback(httplib::Server& server, int port) {
  // By the library's own options, another program on the port would share it with us.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  int bound = -1;
  if (port == 0) {
    bound = server.bind_to_any_port(kLoopback);
  } else if (server.bind_to_port(kLoopback, port)) {
    bound = port;
  }
  if (bound > 0) return bound;
  return Status::Usage(fmt::format("cannot listen on {}:{}: {}; name another port, or 0 for any",
                                   kLoopback, port, std::strerror(errno)));
}

}  // namespace headroom
