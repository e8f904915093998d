// Trace formats that are known but not read, told by name or first bytes.
#pragma once

#include <string_view>

namespace headroom {

/// What a file that is no trace for us is instead: "an XPlane profile (JAX, TensorFlow)"; empty
/// where it is nothing known. `head` holds its first bytes, decompressed, 16 at least if there are.
std::string_view OtherFormatOf(std::string_view path, std::string_view head);

}  // namespace headroom
