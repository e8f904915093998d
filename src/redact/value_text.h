// Reads the text between a name and its value ("name: 'value'", "name=value") backwards. Each
// function removes its part from the end of `before`, the text before the value.
#pragma once

#include <string_view>

namespace headroom {

void TakeBlanks(std::string_view& before);

/// Returns true if a string begins with the prefix of a literal, at most two letters before its
/// quote: "b'x'".
bool IsPrefixOfQuoted(std::string_view text);

/// Removes the opening of a quoted value: the quotes and the prefix of a literal. A value has one
/// or three quotes; backslashes precede each quote within a quoted string. Returns the quotes with
/// their backslashes; otherwise an empty string.
std::string_view TakeOpening(std::string_view& before);

/// Removes the sign between a name and its value, and the quotes that close the name. Signs are
/// "=", ":", ":=", "=>", and "(" of a call with a quoted argument. Returns the sign;
/// otherwise an empty string.
std::string_view TakeSign(std::string_view& before, bool is_quoted);

}  // namespace headroom
