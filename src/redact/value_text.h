// What stands between a name and its value ("name: 'value'", "name=value"), read backwards from the
// value: each takes its part from the end of `before`, the text in front.
#pragma once

#include <string_view>

namespace headroom {

void TakeBlanks(std::string_view& before);

/// Whether a text is the letters of a literal, at most two, in front of its quote: "b'x'".
bool IsPrefixOfQuoted(std::string_view text);

/// Takes what opens a quoted value: one or three quotes, each behind the backslashes that it has in
/// a quoted text, and the letters of a literal. Gives the quotes with their backslashes; empty:
/// none.
std::string_view TakeOpening(std::string_view& before);

/// Takes the sign between a name and its value ("=", ":", ":=", "=>", of a call with a text "(")
/// and the quotes that close the name. Empty: there is none.
std::string_view TakeSign(std::string_view& before, bool is_quoted);

}  // namespace headroom
