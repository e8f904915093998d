// Trace formats that are known but not read, told by name or first bytes.
#pragma once

#include <string_view>

namespace headroom {

/// What a file that is no trace for us is instead, and what to do: "a report of Nsight Systems,
/// which ...; pass its export: ..."; empty where it is nothing known. `head` holds its first bytes,
/// decompressed, 16 at least if there are.
std::string_view OtherFormatOf(std::string_view path, std::string_view head);

}  // namespace headroom
