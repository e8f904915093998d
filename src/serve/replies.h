// What a server answers with: JSON, or an error that says what is wrong with the question.
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

/// headroom.error/1.
std::string ErrorJson(std::string_view message);

/// The answer, or status 400 and why there is none.
void Reply(const Result<std::string>& answer, const char* type, httplib::Response& response);

}  // namespace headroom
