#include "render/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>

#include "base/ascii.h"

namespace headroom {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct CodePoint {
  char32_t value;
  std::size_t length;  ///< Bytes; 1 for a byte that is not UTF-8.
  bool valid;
};

/// Decodes the code point at `text[at]`. Overlong forms, surrogates and values above U+10FFFF are
/// invalid.
CodePoint Decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {kReplacement, 1, false};
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1, false};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || surrogate || value > 0x10FFFF) return {kReplacement, 1, false};
  return {value, length, true};
}

void Append(std::string& out, char32_t value) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    push(value);
  } else if (value < 0x800) {
    push(0xC0 | value >> 6);
    push(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    push(0xE0 | value >> 12);
    push(0x80 | (value >> 6 & 0x3F));
    push(0x80 | (value & 0x3F));
  } else {
    push(0xF0 | value >> 18);
    push(0x80 | (value >> 12 & 0x3F));
    push(0x80 | (value >> 6 & 0x3F));
    push(0x80 | (value & 0x3F));
  }
}

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool InAny(const Range (&ranges)[N], char32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](Range range) { return value >= range.first && value <= range.last; });
}

/// Returns true for control characters, and for characters that are invisible or change the order
/// or shape of nearby text.
bool IsUnprintable(char32_t value) {
  static constexpr Range kRanges[] = {
      {0x00, 0x1F},         // C0
      {0x7F, 0x9F},         // delete, C1
      {0xAD, 0xAD},         // soft hyphen
      {0x34F, 0x34F},       // grapheme joiner
      {0x61C, 0x61C},       // Arabic letter mark
      {0x115F, 0x1160},     // Hangul fillers
      {0x17B4, 0x17B5},     // invisible Khmer vowels
      {0x180B, 0x180F},     // Mongolian selectors
      {0x200B, 0x200F},     // zero width, direction marks
      {0x2028, 0x202E},     // line separators, direction embeddings and overrides
      {0x2060, 0x206F},     // invisible operators, direction isolates
      {0x3164, 0x3164},     // Hangul filler
      {0xFE00, 0xFE0F},     // variation selectors
      {0xFEFF, 0xFEFF},     // byte order mark
      {0xFFA0, 0xFFA0},     // Hangul filler
      {0xFFF0, 0xFFFB},     // specials
      {0xFFFE, 0xFFFF},     // noncharacters
      {0xE0000, 0x10FFFF},  // tags, selectors, private use
  };
  return InAny(kRanges, value);
}

bool IsWide(char32_t value) {
  static constexpr Range kRanges[] = {
      {0x1100, 0x115E},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23F3},
      {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},
      {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},
      {0x26C4, 0x26C5},   {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},
      {0x26F2, 0x26F5},   {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},
      {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274E},   {0x2753, 0x2757},
      {0x2795, 0x2797},   {0x27B0, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B55},
      {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
      {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
      {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004},
      {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A}, {0x1F200, 0x1F9FF}, {0x1FA70, 0x1FAFF},
      {0x20000, 0x3FFFD},
  };
  return value >= 0x1100 && InAny(kRanges, value);
}

void AppendEscaped(std::string& out, char32_t value) {
  switch (value) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (value < 0x100) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint32_t>(value));
      } else if (value < 0x10000) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(value));
      } else {
        fmt::format_to(std::back_inserter(out), "\\U{:08x}", static_cast<std::uint32_t>(value));
      }
  }
}

/// Visits every code point of `text`; bytes that are not UTF-8 are visited as U+FFFD.
template <typename Visitor>
void ForEachCodePoint(std::string_view text, Visitor&& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = Decode(text, at);
    visit(point.value);
    at += point.length;
  }
}

std::string_view Ellipsis(Charset charset) { return charset == Charset::kUtf8 ? "\u2026" : "..."; }

/// Returns the start of the longest suffix that is at most `width` columns wide.
std::size_t SuffixStart(std::string_view text, std::size_t width) {
  const std::size_t whole = DisplayWidth(text);
  std::size_t before = 0;
  std::size_t at = 0;
  while (at < text.size() && whole - before > width) {
    const CodePoint point = Decode(text, at);
    before += IsWide(point.value) ? 2 : 1;
    at += point.length;
  }
  return at;
}

/// Returns true for a continuation byte of UTF-8.
bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool IsWordCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

bool IsPlainShellCharacter(char c) {
  return IsWordCharacter(c) || std::string_view("%+,-./:=@").find(c) != std::string_view::npos;
}

/// Returns true for the "GH" of a reference such as GH-3, which GitHub links.
bool IsReferencePrefix(char first, char second) {
  return (first == 'G' || first == 'g') && (second == 'H' || second == 'h');
}

}  // namespace

std::string Printable(std::string_view text, Charset charset) {
  std::string out;
  out.reserve(text.size());
  ForEachCodePoint(text, [&](char32_t value) {
    if (IsUnprintable(value) || (charset == Charset::kAscii && value >= 0x80)) {
      AppendEscaped(out, value);
    } else {
      Append(out, value);
    }
  });
  return out;
}

std::size_t DisplayWidth(std::string_view printable) {
  std::size_t width = 0;
  ForEachCodePoint(printable, [&](char32_t value) { width += IsWide(value) ? 2 : 1; });
  return width;
}

std::string CutMiddle(std::string_view printable, std::size_t width, Charset charset) {
  assert(width >= 8 && "no room for an ellipsis");
  if (DisplayWidth(printable) <= width) return std::string(printable);
  const std::string_view ellipsis = Ellipsis(charset);
  const std::size_t room = width - DisplayWidth(ellipsis);
  const std::size_t head = room * 3 / 5;
  return fmt::format("{}{}{}", printable.substr(0, PrefixBytes(printable, head)), ellipsis,
                     printable.substr(SuffixStart(printable, room - head)));
}

std::string CutPath(std::string_view printable, std::size_t width, Charset charset) {
  if (DisplayWidth(printable) <= width) return std::string(printable);
  const std::string_view ellipsis = Ellipsis(charset);
  const std::string_view name = printable.substr(std::min(printable.rfind('/'), printable.size()));
  const std::size_t kept = DisplayWidth(name) + DisplayWidth(ellipsis);
  if (name.empty() || kept > width) return CutMiddle(printable, width, charset);
  return fmt::format("{}{}{}", printable.substr(0, PrefixBytes(printable, width - kept)), ellipsis,
                     name);
}

std::string CutAround(std::string_view printable, std::size_t width, std::size_t at,
                      Charset charset, std::size_t head) {
  assert(head + 8 <= width && "no room for two ellipses");
  if (DisplayWidth(printable) <= width) return std::string(printable);
  const std::string_view ellipsis = Ellipsis(charset);
  const std::size_t begin = PrefixBytes(printable, head);
  const std::size_t room = width - head - DisplayWidth(ellipsis);
  std::size_t from = std::max(begin, std::min(at, printable.size()));
  while (from > begin && from < printable.size() && IsContinuation(printable[from])) --from;
  // If the rest is shorter than the room, shows more text before it.
  from = std::min(from, SuffixStart(printable, room));
  const std::string_view rest = printable.substr(from);
  if (DisplayWidth(rest) <= room)
    return fmt::format("{}{}{}", printable.substr(0, begin), ellipsis, rest);
  return fmt::format("{}{}{}{}", printable.substr(0, begin), ellipsis,
                     rest.substr(0, PrefixBytes(rest, room - DisplayWidth(ellipsis))), ellipsis);
}

std::string EscapeMarkdown(std::string_view text) {
  // GitHub finds references in the rendered text, in which backslashes and entities are already
  // resolved. Only another character between the sign and the name separates them.
  constexpr std::string_view kZeroWidthSpace = "&#8203;";
  const std::string line = Printable(text);
  const auto at = [&](std::size_t i) { return i < line.size() ? line[i] : ' '; };
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const char before = i > 0 ? line[i - 1] : ' ';
    const char after = at(i + 1);
    bool backslash = false;
    switch (c) {
      case '&':
        out += "&amp;";
        continue;
      case '<':
        out += "&lt;";
        continue;
      case '>':  // A quotation at the start of a line. It is harmless elsewhere, as no tag is open.
        if (line.find_first_not_of(' ') < i) break;
        out += "&gt;";
        continue;
      case '@':  // A mention of a user.
        out.push_back(c);
        out += kZeroWidthSpace;
        continue;
      case '#':  // A heading or an issue.
        if (i == 0) out.push_back('\\');
        out.push_back(c);
        if (IsDigit(after)) out += kZeroWidthSpace;
        continue;
      case ':':  // A URL becomes a link even without brackets.
        if (after == '/') {
          out += "&#58;";
          continue;
        }
        break;
      case '.':
        backslash =
            i >= 3 && (line.compare(i - 3, 3, "www") == 0 || line.compare(i - 3, 3, "WWW") == 0);
        break;
      case '_':  // Emphasis, except inside a word.
        backslash = !IsWordCharacter(before) || !IsWordCharacter(after);
        break;
      case '-':
        if (IsDigit(after) && i >= 2 &&
            IsReferencePrefix(line[i - 2], before)) {  // A reference such as "GH-3".
          out.push_back(c);
          out += kZeroWidthSpace;
          continue;
        }
        [[fallthrough]];
      case '+':
        backslash = i == 0;
        break;
      case '(':  // After a bracket: the target of a link.
        backslash = before == ']';
        break;
      case '!':
        backslash = after == '[';
        break;
      case '\\':
      case '`':
      case '*':
      case '[':
      case ']':
      case '|':
      case '~':
      case '$':
        backslash = true;
        break;
      default:
        break;
    }
    if (backslash) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string MarkdownName(std::string_view name) {
  const std::string line = Printable(name);
  // Markdown trims spaces at both ends of code, and a table's cell border works even inside code.
  const bool code = !line.empty() && line.front() != ' ' && line.back() != ' ' &&
                    line.find_first_of("`|") == std::string::npos;
  return code ? "`" + line + "`" : EscapeMarkdown(name);
}

std::string MarkdownCode(std::string_view text) {
  const std::string line = Printable(text);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : line) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string_view padding = longest > 0 ? " " : "";
  return fmt::format("{}{}{}{}{}", fence, padding, line, padding, fence);
}

std::string CsvField(std::string_view text) {
  std::string out;
  constexpr std::string_view kOfFormulas = "=+-@\t\r\n";
  constexpr std::string_view kOfNumbers = "0123456789.eE+-";
  double number = 0;
  const std::size_t sign =
      text.starts_with('+') ? 1 : 0;  // from_chars() does not accept a plus sign.
  const auto [end, error] = std::from_chars(text.data() + sign, text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() &&
                         text.find_first_not_of(kOfNumbers) == std::string_view::npos &&
                         !text.substr(sign).starts_with('+') && !(sign > 0 && text[1] == '-');
  if (!text.empty() && kOfFormulas.find(text.front()) != std::string_view::npos && !is_number)
    out.push_back('\'');
  ForEachCodePoint(text, [&](char32_t value) { Append(out, value); });
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (char c : out) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string PrintableLines(std::string_view text, Charset charset) {
  std::string out;
  out.reserve(text.size());
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out += Printable(line, charset);
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  ForEachCodePoint(text, [&](char32_t value) { Append(out, value); });
  return out;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  // Most strings are plain names and keys.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < '\x7F' && c != '"' && c != '\\';
  });
  if (plain) {
    out += text;
    out += '"';
    return out;
  }
  ForEachCodePoint(text, [&](char32_t value) {
    switch (value) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (!IsUnprintable(value)) {
          Append(out, value);
        } else if (value < 0x10000) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(value));
        } else {
          const auto above = static_cast<std::uint32_t>(value) - 0x10000;  // A surrogate pair.
          fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10),
                         0xDC00 + (above & 0x3FF));
        }
    }
  });
  out.push_back('"');
  return out;
}

std::string ShellQuote(std::string_view text, Charset charset) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlainShellCharacter))
    return std::string(text);
  const auto shown = [&](CodePoint point) {
    return point.valid && !IsUnprintable(point.value) &&
           (charset == Charset::kUtf8 || point.value < 0x80);
  };
  bool all_shown = true;
  for (std::size_t at = 0; at < text.size() && all_shown;) {
    const CodePoint point = Decode(text, at);
    all_shown = shown(point);
    at += point.length;
  }
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = Decode(text, at);
    const std::string_view bytes = text.substr(at, point.length);
    at += point.length;
    if (all_shown) {
      out += bytes == "'" ? "'\\''" : bytes;
    } else if (shown(point) && std::string_view("'\\%-").find(bytes) == std::string_view::npos) {
      out += bytes;
    } else {
      // Always three octal digits: a hexadecimal escape would absorb following digits.
      for (char byte : bytes)
        fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(byte));
    }
  }
  if (all_shown) return fmt::format("'{}'", out);
  // Not every sh supports $'...', and $(...) drops line breaks at the end.
  return text.back() == '\n' ? fmt::format("$'{}'", out) : fmt::format("\"$(printf '{}')\"", out);
}

std::string PathArgument(std::string_view path) {
  return path.empty() || path.front() != '-' ? std::string(path) : fmt::format("./{}", path);
}

std::size_t PrefixBytes(std::string_view printable, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < printable.size()) {
    const CodePoint point = Decode(printable, at);
    used += IsWide(point.value) ? 2 : 1;
    if (used > width) break;
    at += point.length;
  }
  return at;
}

}  // namespace headroom
