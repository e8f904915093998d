// Decodes and encodes the escapes of JSON texts.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Decodes the escapes of a text between its quotes and appends the result to `out`. A lone
/// surrogate becomes U+FFFD. Invalid escapes and bytes that are not UTF-8 stay unchanged.
void Unescape(std::string_view text, std::string& out);

/// Appends a text with quotes and escapes. Bytes of 0x80 and above stay unchanged.
void AppendQuoted(std::string_view text, std::string& out);

}  // namespace headroom
