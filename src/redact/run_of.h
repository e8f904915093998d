// Kinds of bytes, and how far those of a kind reach in a text.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/ascii.h"

namespace headroom {

inline bool IsLetterOrDigit(char c) { return IsLetter(c) || IsDigit(c); }

/// Whether a byte is of a kind.
using ByteKind = bool (*)(char);

/// The end of the bytes of a kind that begin at `at`; `at` where there are none.
inline std::size_t RunOf(std::string_view text, std::size_t at, ByteKind is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

}  // namespace headroom
