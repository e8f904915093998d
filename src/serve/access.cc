#include "serve/access.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/ascii.h"

namespace headroom {
namespace {

/// Returns the value of a cookie in a `Cookie` header ("a=1; b=2"); empty if missing.
std::string_view CookieNamed(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t end = header.find(';');
    std::string_view pair = header.substr(0, end);
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  }
  return {};
}

}  // namespace

bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string MakeToken() {
  std::random_device random;  // On Linux, the kernel's random numbers.
  std::string token;
  constexpr int kWords = 4;
  for (int word = 0; word < kWords; ++word) token += fmt::format("{:08x}", random());
  return token;
}

AccessRules::AccessRules(std::string token, int port)
    : token_(std::move(token)), cookie_name_(fmt::format("headroom-{}", port)) {}

Access AccessRules::Check(const RequestFacts& request) const {
  if (!IsLoopbackHost(request.host)) return Access::kForeignHost;
  // Requests from a page of this server have this server's address as their origin.
  if (!request.origin.empty() && request.origin != "http://" + request.host)
    return Access::kForeignOrigin;
  if (request.acts && request.origin.empty()) return Access::kNoOrigin;
  if (SameSecret(request.token, token_)) return Access::kByLink;
  if (SameSecret(CookieNamed(request.cookies, cookie_name_), token_)) return Access::kByCookie;
  return Access::kNoToken;
}

std::string AccessRules::SetCookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name_, token_);
}

bool IsLoopbackHost(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  std::string_view name = host;
  if (colon != std::string_view::npos && host.back() != ']') {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > 5) return false;
    for (const char c : port) {
      if (!IsDigit(c)) return false;
    }
    name = host.substr(0, colon);
  }
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

}  // namespace headroom
