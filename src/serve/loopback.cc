#include "serve/loopback.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace headroom {

namespace {

/// Prevents sharing of the port. With httplib's default options, another program could listen on it
/// too.
void BeAloneOnPort(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

Status CannotListen(int port, const std::string& address = kLoopback) {
  return Status::Usage(fmt::format("cannot listen on {}:{}: {}; name another port, or 0 for any",
                                   address, port, std::strerror(errno)));
}

}  // namespace

Result<int> BindTo(httplib::Server& server, const std::string& address, int port) {
  server.set_socket_options(BeAloneOnPort);
  int bound = -1;
  errno = 0;
  if (port == 0) {
    bound = server.bind_to_any_port(address);
  } else if (server.bind_to_port(address, port)) {
    bound = port;
  }
  if (bound > 0) return bound;
  // The resolver of names need not set errno.
  if (errno == 0 || errno == EADDRNOTAVAIL)
    return Status::Usage(
        fmt::format("cannot listen on {}: it is not an address of this machine", address));
  return CannotListen(port, address);
}

Result<int> BindToLoopback(httplib::Server& server, int port) {
  return BindTo(server, kLoopback, port);
}

Result<HeldPort> HeldPort::Take(int port) {
  if (port == 0) return HeldPort(-1);
  HeldPort held(socket(AF_INET, SOCK_STREAM, 0));
  if (held.socket_ < 0) return CannotListen(port);
  fcntl(held.socket_, F_SETFD, FD_CLOEXEC);
  BeAloneOnPort(held.socket_);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Without listen(), other programs could bind the same port too.
  if (bind(held.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(held.socket_, 1) != 0)
    return CannotListen(port);
  return {std::move(held)};
}

HeldPort::HeldPort(HeldPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

void HeldPort::Release() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

}  // namespace headroom
