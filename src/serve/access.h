// Access control for a server on loopback: only this machine's browser with the printed link may
// send requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// 32 hexadecimal digits from the system's source of randomness.
std::string MakeToken();

/// Compares in constant time, so that timing does not leak the secret.
bool SameSecret(std::string_view a, std::string_view b);

/// Facts about a request that decide its access; empty: not sent.
struct RequestFacts {
  std::string host = {};     ///< Header `Host`.
  std::string origin = {};   ///< Header `Origin`.
  std::string token = {};    ///< `?token=`.
  std::string cookies = {};  ///< Header `Cookie`.
  bool acts = false;         ///< True: changes state; false: only reads.
};

enum class Access : std::uint8_t {
  kByCookie,
  kByLink,         ///< Allowed by the token in the address; the answer sets the cookie.
  kForeignHost,    ///< Another host name resolved to this server (DNS rebinding).
  kForeignOrigin,  ///< The request comes from a page of another site.
  kNoOrigin,       ///< A request that acts must have an origin; browsers always send one.
  kNoToken,        ///< Neither link nor cookie.
};

class AccessRules {
 public:
  AccessRules(std::string token, int port);

  Access Check(const RequestFacts& request) const;
  /// Returns the value of the header `Set-Cookie` for the answer to a request by link. Scripts
  /// cannot read the cookie. Cookies apply to a host on all ports, so browsers send it to every
  /// server on 127.0.0.1. The cookie's name contains the port, so that several of our servers do
  /// not overwrite each other's.
  std::string SetCookie() const;
  const std::string& token() const { return token_; }

 private:
  std::string token_, cookie_name_;
};

/// Returns true if a `Host` header names a server on loopback. Accepts the form sent by a browser
/// on this machine, and by one at the other end of a tunnel, which may use another port.
bool IsLoopbackHost(std::string_view host);

}  // namespace headroom
