// Small helpers on text.
#pragma once

#include <string_view>

namespace headroom {

/// `text` without the blanks at its ends.
inline std::string_view TrimBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace headroom
