// Bytes as what may be written in them: escapes, digits and other encodings undone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// What an encoding makes of bytes, and where that stands in them.
struct Decoded {
  std::string_view form;  ///< As it is told: "escaped", "hexadecimal", "base64", "UTF-16", ...
  std::string_view text;
  std::size_t at;  ///< Byte of the source at which the encoded stretch begins.
};

/// Calls visit(decoded) for each stretch of the bytes that one of these encodings may have written,
/// until it returns true, and returns whether it did:
/// * escapes of JSON ("\u00f6", "\/"), C and Python ("\xf6", "\366"), URLs ("%f6") and HTML
///   ("&#246;"), mixed, and up to three times over;
/// * pairs of hexadecimal digits; base64, with either alphabet, at each alignment;
/// * UTF-16, either byte order; quoted-printable ("=F6");
/// * separate letters ("h u n t e r") and separate pairs of hexadecimal digits.
/// All but the first also in unescaped text. O(bytes).
bool AnyDecoded(std::string_view bytes, const std::function<bool(const Decoded&)>& visit);

}  // namespace headroom
