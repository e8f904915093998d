// Replies of a server: JSON, or an error that says what is wrong with the request.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace httplib {  // NOLINT(readability-identifier-naming): the name that the library has.
struct Response;
}

namespace headroom {

inline constexpr const char* kJson = "application/json; charset=utf-8";
inline constexpr const char* kBytes = "application/octet-stream";

/// Returns headroom.error/1.
std::string ErrorJson(std::string_view message);

/// Sends the answer, or status 400 with the reason.
void Reply(const Result<std::string>& answer, const char* type, httplib::Response& response);

}  // namespace headroom
