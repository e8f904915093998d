// Decodes text that is stored as escapes, digits or another encoding.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// A decoded string and its position in the source.
struct Decoded {
  std::string_view form;  ///< Name for messages: "escaped", "hexadecimal", "base64", "UTF-16", ...
  std::string_view text;
  std::size_t at;  ///< Offset in the source at which the encoded part begins, in bytes.
};

/// Calls visit(decoded) for each part of the bytes that is valid in one of these encodings. Stops
/// if visit() returns true, and then returns true.
/// - Escapes of JSON ("\u00f6", "\/"), C and Python ("\xf6", "\366"), URLs ("%f6") and HTML
///   ("&#246;"), also mixed, up to three layers.
/// - Pairs of hexadecimal digits.
/// - Base64 with either alphabet, at each alignment.
/// - UTF-16 in either byte order.
/// - Quoted-printable ("=F6").
/// - Separate letters ("h u n t e r") and separate pairs of hexadecimal digits.
///
/// After a layer of escapes is decoded, the other encodings are also decoded in the result.
/// O(bytes).
bool AnyDecoded(std::string_view bytes, const std::function<bool(const Decoded&)>& visit);

}  // namespace headroom
