// Files that are known and no traces, told by their first bytes.
#pragma once

#include <string_view>

namespace headroom {

/// What a file that is no trace is instead, and what to do: "a Git LFS pointer, which ...; fetch
/// the file: ..."; empty where it is nothing known. `head` holds its first bytes, decompressed, 16
/// at least if there are.
std::string_view OtherFormatOf(std::string_view head);

}  // namespace headroom
