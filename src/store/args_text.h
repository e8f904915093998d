// Access to the members of an event's `args` that have no column. They are kept as JSON text, e.g.
// "Input Dims": [[8, 384], []], "Input type": ["float", "Scalar"]
#pragma once

#include <string_view>

namespace headroom {

/// Returns the raw JSON value of the member `key` in a list of members, escapes included; empty if
/// the member is missing. Damaged text yields an empty value or a part of the text, never an
/// overrun.
std::string_view FindMember(std::string_view members, std::string_view key);

/// Returns the position just after the JSON value that begins at `at`, or the end of the text if
/// the value does not end. Looks only at brackets and quotes.
std::size_t SkipValue(std::string_view text, std::size_t at);

}  // namespace headroom
