#include "redact/decoded_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace headroom {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// -1: none of them is a digit of either alphabet.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

/// Joins halves of what two units of UTF-16 write.
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

/// The value of `count` hexadecimal digits at `at`, or -1.
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

/// The text with one layer of escapes undone; whether there were any.
bool Unescaped(std::string_view text, std::string& out) {
  out.clear();
  if (text.find_first_of("\\%") == std::string_view::npos) return false;
  Utf16Units units(out);
  std::size_t plain = 0;
  bool any = false;
  for (std::size_t at = text.find_first_of("\\%"); at < text.size();) {
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    const bool percent = text[at] == '%';
    std::size_t end = at;
    int code = -1;
    if (percent) {
      code = HexAt(text, at + 1, 2);
      end = at + 3;
    } else if (kind == 'x') {
      code = HexAt(text, at + 2, 2);
      end = at + 4;
    } else if (kind == 'u') {
      code = HexAt(text, at + 2, 4);
      end = at + 6;
    }
    if (code >= 0) {
      out += text.substr(plain, at - plain);
      if (kind == 'u' && !percent) {
        units.Add(static_cast<std::uint32_t>(code));
      } else {
        out += static_cast<char>(code);
      }
    } else if (!percent && (kind == '/' || kind == '\\' || kind == '"')) {
      out += text.substr(plain, at - plain);
      out += kind;
      end = at + 2;
    } else {
      at = text.find_first_of("\\%", at + 1);
      continue;
    }
    any = true;
    plain = end;
    at = text.find_first_of("\\%", end);
  }
  if (any) out += text.substr(plain);
  return any;
}

/// Calls visit(begin, end) for each longest run of bytes that `is` takes, until it returns true.
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
  constexpr std::size_t kShortest = 8;  // Six bytes.
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
  constexpr std::size_t kShortest = 12;  // Six bytes.
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
  return AnyUtf16(text, 0, visit) || AnyHex(text, 0, is_source, visit) ||
         AnyBase64(text, 0, is_source, visit);
}

}  // namespace

bool AnyDecoded(std::string_view bytes, const std::function<bool(const Decoded&)>& visit) {
  if (AnyOfOneLayer(bytes, /*is_source=*/true, visit)) return true;
  constexpr int kMaxLayers = 3;  // JSON within JSON within a URL.
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
