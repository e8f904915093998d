// Small helpers on text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// `text` without the blanks at its ends.
inline std::string_view TrimBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// `text` with its ASCII letters in lower case.
std::string LowerCase(std::string_view text);

/// The names that one may have meant by a word, at most three: those that it is a part of first,
/// then those that differ from it in a third of their letters at most. Case does not count. Empty
/// where none is near.
std::vector<std::string_view> NearNames(std::string_view word, std::vector<std::string_view> names);

/// Appends a code point, at most 0x10FFFF, as UTF-8.
void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace headroom
