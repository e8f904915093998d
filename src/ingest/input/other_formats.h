// Recognizes known files that are not traces by their first bytes.
#pragma once

#include <string_view>

namespace headroom {

/// Returns the format of a file that is not a trace, and what to do: "a Git LFS pointer ...; fetch
/// the file: ...". Returns an empty string for unknown formats. `head` holds the first decompressed
/// bytes, at least 16 unless the file is shorter.
std::string_view OtherFormatOf(std::string_view head);

}  // namespace headroom
