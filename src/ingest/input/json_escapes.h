// Texts of JSON as they are meant.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Decodes the escapes of a text between its quotes. A lone surrogate becomes U+FFFD, what is no
/// escape stays as it is, and so do bytes that are no UTF-8. Appends to `out`.
void Unescape(std::string_view text, std::string& out);

/// Appends a text with its quotes and escapes. Bytes of 0x80 and above stay as they are.
void AppendQuoted(std::string_view text, std::string& out);

}  // namespace headroom
