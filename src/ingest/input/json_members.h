// Checks members of a JSON object, kept as text by a reader, against RFC 8259.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Returns true if a text is `"key": value, "key": value` according to the grammar of RFC 8259. Any
/// tool can parse an object with such members. Accepts all bytes of 0x80 and above. Returns false
/// for nesting beyond 64. Linear time.
bool AreJsonMembers(std::string_view members);

/// Returns, unchanged, the members whose keys and values are valid JSON, and drops the others.
/// `NaN`, `Infinity` and `-Infinity`, which Python programs write, become null.
///
/// @param members  members of an object, separated by commas outside quotes and brackets
std::string SoundMembers(std::string_view members);

}  // namespace headroom
