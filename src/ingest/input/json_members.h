// Members of a JSON object as a reader kept their text, held to what JSON is (RFC 8259).
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Whether a text is `"key": value, "key": value` by the grammar of RFC 8259, so that an object of
/// it is read by any tool. Bytes of 0x80 and above may be anything. Nesting beyond 64 is none.
/// Linear time.
bool AreJsonMembers(std::string_view members);

/// The members of a text whose keys and values are JSON, as they stand; the others are left out. Of
/// `NaN`, `Infinity` and `-Infinity`, which writers in Python leave, the value is null.
///
/// @param members  as a reader split them: each ends at a comma beyond quotes and brackets
std::string SoundMembers(std::string_view members);

}  // namespace headroom
