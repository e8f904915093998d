// Who may ask a server on loopback: this machine's browser with the link that was printed, nobody
// else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// 32 hexadecimal digits from the system's source of randomness.
std::string MakeToken();

/// What a request says of itself; empty: not sent.
struct RequestFacts {
  std::string host = {};     ///< Header `Host`.
  std::string origin = {};   ///< Header `Origin`.
  std::string token = {};    ///< `?token=`.
  std::string cookies = {};  ///< Header `Cookie`.
  bool acts = false;         ///< Asks to do something, not to tell something.
};

enum class Access : std::uint8_t {
  kByCookie,
  kByLink,         ///< By the token in the address; the answer sets the cookie.
  kForeignHost,    ///< Another name led here (DNS rebinding).
  kForeignOrigin,  ///< A page of another site asks.
  kNoOrigin,       ///< What acts must say that this server's page asks; browsers always do.
  kNoToken,        ///< Neither link nor cookie.
};

class AccessRules {
 public:
  AccessRules(std::string token, int port);

  Access Check(const RequestFacts& request) const;
  /// The value of the header `Set-Cookie` that answers a request by link. No script reads it. A
  /// cookie is of a host, whatever the port: browsers send it to every server there is on
  /// 127.0.0.1, which can read it. Its name has the port, so that several of ours do not overwrite
  /// each other's.
  std::string SetCookie() const;
  const std::string& token() const { return token_; }

 private:
  std::string token_, cookie_name_;
};

/// Whether a `Host` header names a server on this port of loopback, as a browser on this machine or
/// at the other end of a tunnel sends it: the tunnel may have another port.
bool IsLoopbackHost(std::string_view host);

}  // namespace headroom
