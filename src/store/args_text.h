// Access to the members of an event's `args` that have no column: kept as JSON text, e.g.
//   "Input Dims": [[8, 384], []], "Input type": ["float", "Scalar"]
#pragma once

#include <string_view>

namespace headroom {

/// The raw JSON value of the member `key` (as written in the file, escapes included) in a list of
/// members; empty where absent. Text of a damaged trace gives empty or a piece of text, never an
/// overrun.
std::string_view FindMember(std::string_view members, std::string_view key);

/// The position just after the JSON value that begins at `at`, by brackets and quotes only; the end
/// of the text where it does not end.
std::size_t SkipValue(std::string_view text, std::size_t at);

}  // namespace headroom
