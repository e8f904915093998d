// Small helpers on text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Returns `text` without blanks at its ends.
inline std::string_view TrimBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Returns `text` with its ASCII letters in lower case.
std::string LowerCase(std::string_view text);

/// Returns at most three names that a user may have meant by a word. Names that contain the word
/// come first, then names that differ in at most a third of the letters. Ignores case. Empty if no
/// name is near.
std::vector<std::string_view> NearNames(std::string_view word, std::vector<std::string_view> names);

/// Appends a code point, at most 0x10FFFF, as UTF-8.
void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace headroom
