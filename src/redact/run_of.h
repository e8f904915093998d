// Kinds of bytes, and runs of bytes of one kind.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/ascii.h"

namespace headroom {

inline bool IsLetterOrDigit(char c) { return IsLetter(c) || IsDigit(c); }

/// Predicate for one kind of bytes.
using ByteKind = bool (*)(char);

/// Returns the end of the run of bytes of one kind that begins at `at`; `at` if the run is empty.
inline std::size_t RunOf(std::string_view text, std::size_t at, ByteKind is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

}  // namespace headroom
