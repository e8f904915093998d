// Writing gzip.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// One gzip member that holds `content`; the same bytes for the same content.
std::string Gzip(std::string_view content);

}  // namespace headroom
