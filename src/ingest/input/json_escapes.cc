#include "ingest/input/json_escapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <system_error>

#include "base/text.h"

namespace headroom {
namespace {

bool IsPlain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

/// Returns the value of four hexadecimal digits at `at`, or -1.
int HexQuad(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  if (text[at] == '-') return -1;  // from_chars would accept a sign.
  int value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  return error == std::errc() && end == text.data() + at + 4 ? value : -1;
}

/// Decodes the \u escape whose four digits begin at `at`; returns the position after it.
std::size_t UnescapeUnicode(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const int first = HexQuad(text, at);
  if (first < 0) {
    AppendUtf8(kReplacement, out);
    return at;
  }
  at += 4;
  const auto unit = static_cast<std::uint32_t>(first);
  if (unit < 0xD800 || unit > 0xDFFF) {
    AppendUtf8(unit, out);
    return at;
  }
  if (unit < 0xDC00 && text.substr(at, 2) == "\\u") {
    const int second = HexQuad(text, at + 2);
    if (second >= 0xDC00 && second <= 0xDFFF) {
      AppendUtf8(0x10000 + ((unit - 0xD800) << 10) + (static_cast<std::uint32_t>(second) - 0xDC00),
                 out);
      return at + 6;
    }
  }
  AppendUtf8(kReplacement, out);
  return at;
}

}  // namespace

void Unescape(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c != '\\' || at == text.size()) {
      out += c;
      continue;
    }
    const char kind = text[at++];
    switch (kind) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u':
        at = UnescapeUnicode(text, at, out);
        break;
      default:
        if (kind != '"' && kind != '\\' && kind != '/') out += '\\';  // Not an escape: "C:\path".
        out += kind;
        break;
    }
  }
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    out += text;
  } else {
    for (const char c : text) {
      if (IsPlain(c)) {
        out += c;
      } else if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      }
    }
  }
  out += '"';
}

}  // namespace headroom
