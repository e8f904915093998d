// Checks members of a JSON object, kept as text by a reader, against RFC 8259.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Returns true if a text is `"key": value, "key": value` by the grammar of RFC 8259, so that any
/// tool reads an object of it. Bytes of 0x80 and above may have any value. Returns false for
/// nesting beyond 64. Linear time.
bool AreJsonMembers(std::string_view members);

/// Returns the members of a text whose keys and values are JSON, unchanged, and drops the others.
/// `NaN`, `Infinity` and `-Infinity`, which Python programs write, become null.
///
/// @param members  as a reader split them: each ends at a comma outside quotes and brackets
std::string SoundMembers(std::string_view members);

}  // namespace headroom
