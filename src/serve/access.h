// Who may ask a server on loopback: this machine's browser with the link that was printed, nobody
// else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// 32 hexadecimal digits from the system's source of randomness.
std::string MakeToken();

/// What a request says of itself.
struct RequestOrigin {
  std::string host;                    ///< Header `Host`.
  std::optional<std::string> origin;   ///< Header `Origin`; none: not sent.
  std::optional<std::string> token;    ///< `?token=`.
  std::string cookies;                 ///< Header `Cookie`.
};

enum class Access {
  kAllowed,
  kAllowedByLink,  ///< By the token in the address: the answer sets the cookie.
  kForeignHost,    ///< Another name led here (DNS rebinding).
  kForeignOrigin,  ///< A page of another site asks.
  kNoToken,        ///< Neither link nor cookie.
};

class AccessRules {
 public:
  AccessRules(std::string token, int port);

  Access Check(const RequestOrigin& request) const;
  /// The header `Set-Cookie` that answers a request by link: only this server gets it back, and no
  /// script reads it.
  std::string CookieHeader() const;
  const std::string& token() const { return token_; }

 private:
  std::string token_, cookie_;
  int port_;
};

/// Whether a `Host` header names a server on this port of loopback; also without the port, as some
/// tunnels send it.
bool IsLoopbackHost(std::string_view host, int port);

}  // namespace headroom
