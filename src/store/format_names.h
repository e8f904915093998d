// TraceMetadata::format of what other tools write, where more than its reader asks for it.
#pragma once

#include <string_view>

namespace headroom {

inline constexpr std::string_view kNsightFormat = "nsight-systems-sqlite";

}  // namespace headroom
