#include "redact/decoded_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/run_of.h"

namespace headroom {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns the value of a base64 digit; -1 if it is in neither alphabet.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

/// Joins UTF-16 surrogate pairs.
class Utf16Units {
 public:
  explicit Utf16Units(std::string& out) : out_(out) {}

  void Add(std::uint32_t unit) {
    if (unit >= 0xDC00 && unit < 0xE000 && high_ != 0) {
      AppendUtf8(0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00), out_);
      high_ = 0;
      return;
    }
    high_ = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
    if (high_ == 0) AppendUtf8(unit, out_);
  }

 private:
  std::string& out_;
  std::uint32_t high_ = 0;
};

/// Returns the value of `count` hexadecimal digits at `at`; -1 if they are not digits.
int HexAt(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// Returns the code point of an HTML character reference at `at`, numeric ("&#246;", "&#xf6;") or
/// named; otherwise -1. Sets `end` to the byte after the reference.
int ReferenceAt(std::string_view text, std::size_t at, std::size_t& end) {
  constexpr std::size_t kLongest = 12;
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '}};
  const std::string_view head = text.substr(at, kLongest);
  const std::size_t close = head.find(';');
  if (close == std::string_view::npos || close < 2) return -1;
  end = at + close + 1;
  const std::string_view name = head.substr(1, close - 1);
  for (const auto& [known, code] : kNames) {
    if (name == known) return code;
  }
  if (name[0] != '#' || name.size() < 2) return -1;
  const bool is_hex = name[1] == 'x' || name[1] == 'X';
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  int code = 0;
  for (const char c : digits) {
    const int digit = HexDigit(c);
    if (digit < 0 || (!is_hex && digit > 9)) return -1;
    code = code * (is_hex ? 16 : 10) + digit;
    if (code > 0x10FFFF) return -1;
  }
  return digits.empty() ? -1 : code;
}

/// Returns the value of up to three octal digits at `at`; -1 without digits or above 255. Sets
/// `end` to the byte after them.
int OctalAt(std::string_view text, std::size_t at, std::size_t& end) {
  int value = 0;
  for (end = at; end < text.size() && end < at + 3 && text[end] >= '0' && text[end] <= '7'; ++end)
    value = value * 8 + (text[end] - '0');
  return end > at && value < 256 ? value : -1;
}

/// Decodes one layer of escapes. Returns true if `text` contains any.
bool Unescaped(std::string_view text, std::string& out) {
  out.clear();
  constexpr std::string_view kBegins = "\\%&";
  if (text.find_first_of(kBegins) == std::string_view::npos) return false;
  Utf16Units units(out);
  std::size_t plain = 0;
  bool any = false;
  for (std::size_t at = text.find_first_of(kBegins); at < text.size();) {
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    const bool percent = text[at] == '%';
    std::size_t end = at;
    int code = -1;
    bool is_point = false;  ///< True if `code` is a code point, not a byte.
    if (text[at] == '&') {
      code = ReferenceAt(text, at, end);
      is_point = true;
    } else if (percent) {
      code = HexAt(text, at + 1, 2);
      end = at + 3;
    } else if (kind == 'x') {
      code = HexAt(text, at + 2, 2);
      end = at + 4;
    } else if (kind == 'u') {
      code = HexAt(text, at + 2, 4);
      end = at + 6;
    } else if (kind >= '0' && kind <= '7') {
      code = OctalAt(text, at + 1, end);
    }
    if (code >= 0) {
      out += text.substr(plain, at - plain);
      if (is_point) {
        AppendUtf8(static_cast<std::uint32_t>(code), out);
      } else if (kind == 'u' && !percent) {
        units.Add(static_cast<std::uint32_t>(code));
      } else {
        out += static_cast<char>(code);
      }
    } else if (text[at] == '\\' && (kind == '/' || kind == '\\' || kind == '"')) {
      out += text.substr(plain, at - plain);
      out += kind;
      end = at + 2;
    } else {
      at = text.find_first_of(kBegins, at + 1);
      continue;
    }
    any = true;
    plain = end;
    at = text.find_first_of(kBegins, end);
  }
  if (any) out += text.substr(plain);
  return any;
}

/// Decodes quoted-printable: bytes such as "=F6", and line breaks after "=". Returns true if `text`
/// contains any.
bool Unquoted(std::string_view text, std::string& out) {
  out.clear();
  bool any = false;
  std::size_t plain = 0;
  for (std::size_t at = text.find('='); at < text.size(); at = text.find('=', at)) {
    const int code = HexAt(text, at + 1, 2);
    const bool breaks =
        text.substr(at + 1).starts_with('\n') || text.substr(at + 1).starts_with("\r\n");
    if (code < 0 && !breaks) {
      ++at;
      continue;
    }
    out += text.substr(plain, at - plain);
    if (!breaks) out += static_cast<char>(code);
    at = breaks ? text.find('\n', at) + 1 : at + 3;
    plain = at;
    any = true;
  }
  if (any) out += text.substr(plain);
  return any;
}

/// Returns true if a byte can separate spaced letters.
bool IsBetween(char c) {
  return c == ' ' || c == '-' || c == '.' || c == '_' || c == ':' || c == ',';
}

/// Calls visit(joined, begin) for each run of at least six words of `size` letters or digits, with
/// the same byte between them. Examples: "h u n t e r", "68 75 6e 74 65 72". Stops if visit()
/// returns true, and then returns true.
template <typename Visit>
bool AnySpaced(std::string_view text, std::size_t size, Visit&& visit) {
  constexpr std::size_t kShortest = 6;
  const auto is_word = [&](std::size_t at) {
    if (at + size > text.size()) return false;
    for (std::size_t i = at; i < at + size; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (!IsLetterOrDigit(text[i]) && byte < 0x80 &&
          (size > 1 || IsBetween(text[i]) || byte <= ' '))
        return false;
    }
    return true;
  };
  std::string joined;
  for (std::size_t at = 0; at + size < text.size();) {
    const char between = text[at + size];
    if (!is_word(at) || !IsBetween(between) || (at > 0 && IsLetterOrDigit(text[at - 1]))) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    joined.assign(text.substr(at, size));
    at += size;
    while (at < text.size() && text[at] == between && is_word(at + 1)) {
      joined += text.substr(at + 1, size);
      at += size + 1;
    }
    if (joined.size() >= kShortest * size && visit(joined, begin)) return true;
  }
  return false;
}

/// Calls visit(begin, end) for each longest run of bytes accepted by `is`, until visit() returns
/// true.
template <typename Is, typename Visit>
bool AnyRun(std::string_view text, std::size_t shortest, Is&& is, Visit&& visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is(text[end])) ++end;
    if (end - at >= shortest && visit(at, end)) return true;
    at = end;
  }
  return false;
}

constexpr std::array<bool, 256> kIsBase64 = [] {
  std::array<bool, 256> is{};
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"))
    is[static_cast<unsigned char>(c)] = true;
  return is;
}();

bool AnyBase64(std::string_view text, std::size_t source, bool is_source,
               const std::function<bool(const Decoded&)>& visit) {
  constexpr std::size_t kShortest = 8;  // Encodes six bytes.
  const auto is = [](char c) { return kIsBase64[static_cast<unsigned char>(c)]; };
  std::string out;
  return AnyRun(text, kShortest, is, [&](std::size_t begin, std::size_t end) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      out.clear();
      std::uint32_t bits = 0;
      int held = 0;
      for (std::size_t i = begin + shift; i < end; ++i) {
        bits = bits << 6 | static_cast<std::uint32_t>(Base64Digit(text[i]));
        held += 6;
        if (held >= 8) {
          held -= 8;
          out += static_cast<char>(bits >> held);
          bits &= (1U << held) - 1;
        }
      }
      if (visit({"base64", out, is_source ? begin : source})) return true;
    }
    return false;
  });
}

bool AnyHex(std::string_view text, std::size_t source, bool is_source,
            const std::function<bool(const Decoded&)>& visit) {
  constexpr std::size_t kShortest = 12;  // Encodes six bytes.
  const auto is = [](char c) { return HexDigit(c) >= 0; };
  std::string out;
  return AnyRun(text, kShortest, is, [&](std::size_t begin, std::size_t end) {
    for (std::size_t shift = 0; shift < 2; ++shift) {
      out.clear();
      for (std::size_t i = begin + shift; i + 1 < end; i += 2)
        out += static_cast<char>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1]));
      if (visit({"hexadecimal", out, is_source ? begin : source})) return true;
    }
    return false;
  });
}

bool AnyUtf16(std::string_view text, std::size_t source,
              const std::function<bool(const Decoded&)>& visit) {
  if (text.find('\0') == std::string_view::npos) return false;
  std::string out;
  for (std::size_t shift = 0; shift < 2; ++shift) {
    for (const bool big : {false, true}) {
      out.clear();
      Utf16Units units(out);
      for (std::size_t i = shift; i + 1 < text.size(); i += 2) {
        const auto first = static_cast<unsigned char>(text[i]);
        const auto second = static_cast<unsigned char>(text[i + 1]);
        units.Add(big ? first << 8U | second : second << 8U | first);
      }
      if (visit({"UTF-16", out, source})) return true;
    }
  }
  return false;
}

bool AnyOfOneLayer(std::string_view text, bool is_source,
                   const std::function<bool(const Decoded&)>& visit) {
  std::string unquoted;
  return AnyUtf16(text, 0, visit) || AnyHex(text, 0, is_source, visit) ||
         AnyBase64(text, 0, is_source, visit) ||
         (Unquoted(text, unquoted) && visit({"quoted-printable", unquoted, 0})) ||
         AnySpaced(text, 1,
                   [&](std::string_view joined, std::size_t begin) {
                     // A spaced list of digits is a list of sizes.
                     return std::any_of(joined.begin(), joined.end(), IsLetter) &&
                            visit({"spaced", joined, is_source ? begin : 0});
                   }) ||
         AnySpaced(text, 2, [&](std::string_view joined, std::size_t begin) {
           return AnyHex(joined, is_source ? begin : 0, /*is_source=*/false, visit);
         });
}

}  // namespace

bool AnyDecoded(std::string_view bytes, const std::function<bool(const Decoded&)>& visit) {
  if (AnyOfOneLayer(bytes, /*is_source=*/true, visit)) return true;
  constexpr int kMaxLayers = 3;  // For instance JSON within JSON within a URL.
  std::string text, next;
  std::string_view from = bytes;
  for (int layer = 0; layer < kMaxLayers && Unescaped(from, next); ++layer) {
    std::swap(text, next);
    from = text;
    if (visit({"escaped", from, 0}) || AnyOfOneLayer(from, /*is_source=*/false, visit)) return true;
  }
  return false;
}

}  // namespace headroom
