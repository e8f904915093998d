#include "ingest/kineto/event_scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/ascii.h"

namespace headroom::kineto {
namespace {

/// Bit i is set if byte i of the 16 at `p` satisfies a predicate.
using Mask = std::uint32_t;
constexpr std::size_t kStride = 16;

#if defined(__SSE2__)

/// Finds quotes, backslashes and control characters, which end a plain run inside a string.
Mask StringStops(const char* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  return static_cast<Mask>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)));
}

/// Finds quotes, brackets, braces and the zero of the padding, which form the structure between
/// strings.
Mask StructureStops(const char* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  // '[' 0x5b, '{' 0x7b, ']' 0x5d, '}' 0x7d: they differ in bit 5.
  const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
  const __m128i open = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
  const __m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
  const __m128i zero = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
  return static_cast<Mask>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, zero), _mm_or_si128(open, close))));
}

#else

template <typename Predicate>
Mask MaskOf(const char* p, Predicate predicate) {
  Mask mask = 0;
  for (std::size_t i = 0; i < kStride; ++i) mask |= Mask{predicate(p[i])} << i;
  return mask;
}
Mask StringStops(const char* p) {
  return MaskOf(
      p, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
}
Mask StructureStops(const char* p) {
  return MaskOf(p, [](char c) {
    const char folded = static_cast<char>(c | 0x20);
    return c == '"' || c == '\0' || folded == '{' || folded == '}';
  });
}

#endif

struct ArgText {
  std::string_view text;
  KinetoArg arg;
};

/// Alternative names that some versions use for an argument.
constexpr ArgText kAliases[] = {
    {"external id", KinetoArg::kExternalId},
    {"Profiler Event Index", KinetoArg::kEventIndex},
};

/// A small open-addressing table from the text of a key to its argument. The hash uses the length
/// and three characters.
class ArgTable {
 public:
  ArgTable() {
    for (std::size_t arg = 1; arg < std::size(kKinetoArgNames); ++arg)
      Add({kKinetoArgNames[arg], static_cast<KinetoArg>(arg)});
    for (const ArgText& alias : kAliases) Add(alias);
  }

  KinetoArg Find(std::string_view text) const {
    if (text.size() < 4) return KinetoArg::kOther;
    for (std::size_t slot = SlotOf(text); !slots_[slot].text.empty(); slot = (slot + 1) % kSlots) {
      if (slots_[slot].text == text) return slots_[slot].arg;
    }
    return KinetoArg::kOther;
  }

 private:
  void Add(const ArgText& entry) {
    std::size_t slot = SlotOf(entry.text);
    while (!slots_[slot].text.empty()) slot = (slot + 1) % kSlots;
    slots_[slot] = entry;
  }

  static constexpr std::size_t kSlots = 256;
  static std::size_t SlotOf(std::string_view text) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    return (text.size() * 31 + at(0) * 7u + at(text.size() / 2) * 13u + at(text.size() - 1) * 3u) %
           kSlots;
  }

  ArgText slots_[kSlots] = {};
};

const ArgTable& KnownArgs() {
  static const ArgTable table;
  return table;
}

/// Walks one event. Every Scan... returns false at the end of the text or at damage, and leaves
/// `at_` there.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t at)
      : begin_(text.data()), end_(text.data() + text.size()), at_(text.data() + at) {}

  ScanResult Run(RawEvent& event, std::size_t& next) {
    event.Clear();
    const char* start = at_;
    const bool complete = ScanEventObject(event);
    at_ = std::min(at_, end_);
    next = static_cast<std::size_t>(at_ - begin_);
    if (!complete) return at_ >= end_ ? ScanResult::kIncomplete : ScanResult::kDamaged;
    event.text = {start, static_cast<std::size_t>(at_ - start)};
    return ScanResult::kEvent;
  }

  ScanResult RunElement(std::size_t& next) {
    Token value;
    const bool complete = ScanValue(value);
    next = static_cast<std::size_t>(at_ - begin_);
    if (complete) return ScanResult::kEvent;
    return at_ >= end_ ? ScanResult::kIncomplete : ScanResult::kDamaged;
  }

  ScanResult RunMember(std::string_view stop_key, Token& key, Token& value, std::size_t& next) {
    value = Token();
    SkipSpace();
    bool complete = ScanString(key) && ScanColon();
    if (complete && !(*at_ == '[' && key.text == stop_key)) complete = ScanValue(value);
    next = static_cast<std::size_t>(at_ - begin_);
    if (complete) return ScanResult::kEvent;
    return at_ >= end_ ? ScanResult::kIncomplete : ScanResult::kDamaged;
  }

 private:
  void SkipSpace() {
    while (IsSpace(*at_)) ++at_;
  }

  bool Expect(char c) {
    if (*at_ != c || at_ >= end_) return false;
    ++at_;
    return true;
  }

  bool ScanEventObject(RawEvent& event) {
    ++at_;  // '{'
    SkipSpace();
    if (*at_ == '}') return Expect('}');
    for (;;) {
      Token key;
      if (!ScanString(key) || !ScanColon()) return false;
      if (key.text == "args" && *at_ == '{') {
        if (!ScanArgs(event)) return false;
      } else {
        Token value;
        if (!ScanValue(value)) return false;
        if (Token* field = FieldOf(event, key.text)) *field = value;
      }
      SkipSpace();
      if (*at_ == '}') return Expect('}');
      if (!ScanComma()) return false;
    }
  }

  bool ScanArgs(RawEvent& event) {
    ++at_;  // '{'
    SkipSpace();
    if (*at_ == '}') return Expect('}');
    for (;;) {
      const char* member = at_;
      Token key;
      ArgMember arg;
      if (!ScanString(key) || !ScanColon() || !ScanValue(arg.value)) return false;
      arg.key = KnownArgs().Find(key.text);
      arg.key_text = key.text;
      arg.whole = {member, static_cast<std::size_t>(at_ - member)};
      event.args.push_back(arg);
      if (arg.key != KinetoArg::kOther && event.args.size() <= UINT16_MAX) {
        event.arg_at[static_cast<std::size_t>(arg.key)] =
            static_cast<std::uint16_t>(event.args.size());
      }
      SkipSpace();
      if (*at_ == '}') return Expect('}');
      if (!ScanComma()) return false;
    }
  }

  bool ScanColon() {
    SkipSpace();
    if (!Expect(':')) return false;
    SkipSpace();
    return true;
  }

  /// Scans one or more commas: some writers omit a member but keep its comma.
  bool ScanComma() {
    if (!Expect(',')) return false;
    SkipSpace();
    while (*at_ == ',') {
      ++at_;
      SkipSpace();
    }
    return true;
  }

  static Token* FieldOf(RawEvent& event, std::string_view key) {
    switch (key.size()) {
      case 2:
        if (key == "ph") return &event.phase;
        if (key == "ts") return &event.time;
        if (key == "id") return &event.id;
        return nullptr;
      case 3:
        if (key == "cat") return &event.category;
        if (key == "pid") return &event.process;
        if (key == "tid") return &event.thread;
        if (key == "dur") return &event.duration;
        if (key == "id2") return &event.id2;
        return nullptr;
      case 4:
        if (key == "name") return &event.name;
        if (key == "unit") return &event.unit;
        return nullptr;
      case 5:
        return key == "scope" ? &event.scope : nullptr;
      default:
        return nullptr;
    }
  }

  bool ScanString(Token& token) {
    if (!Expect('"')) return false;
    const char* start = at_;
    token.escaped = false;
    for (;;) {
      const Mask stops = StringStops(at_);
      if (stops == 0) {
        at_ += kStride;
        if (at_ >= end_) {
          at_ = end_;
          return false;
        }
        continue;
      }
      at_ += std::countr_zero(stops);
      if (*at_ == '"' && at_ < end_) break;
      if (at_ >= end_ || *at_ != '\\') {
        at_ = std::min(at_, end_);
        return false;
      }
      token.escaped = true;
      at_ += 2;
      if (at_ >= end_) {
        at_ = end_;
        return false;
      }
    }
    token.text = {start, static_cast<std::size_t>(at_ - start)};
    token.quoted = true;
    ++at_;
    return true;
  }

  bool ScanValue(Token& token) {
    switch (*at_) {
      case '"':
        return ScanString(token);
      case '[':
      case '{':
        return ScanNested(token);
      default:
        return ScanScalar(token);
    }
  }

  /// Scans a number, true, null, NaN, -Infinity, ...: any text without quotes up to a separator.
  bool ScanScalar(Token& token) {
    const char* start = at_;
    while (IsScalarChar(*at_)) ++at_;
    if (at_ == start || at_ >= end_) {
      if (at_ > end_) at_ = end_;
      return false;
    }
    token.text = {start, static_cast<std::size_t>(at_ - start)};
    token.quoted = false;
    token.escaped = false;
    return true;
  }

  static bool IsScalarChar(char c) {
    return IsDigit(c) || IsLetter(c) || c == '.' || c == '-' || c == '+' || c == '_';
  }

  /// Scans an array or object; checks only brackets and strings.
  bool ScanNested(Token& token) {
    const char* start = at_;
    std::size_t depth = 0;
    do {
      const Mask stops = StructureStops(at_);
      if (stops == 0) {
        at_ += kStride;
        if (at_ >= end_) {
          at_ = end_;
          return false;
        }
        continue;
      }
      at_ += std::countr_zero(stops);
      if (at_ >= end_) {
        at_ = end_;
        return false;
      }
      const char c = *at_;
      if (c == '"') {
        Token inner;
        if (!ScanString(inner)) return false;
        continue;
      }
      if (c == '[' || c == '{') {
        if (depth == kMaxDepth) return false;
        nesting_[depth++] = c == '[' ? ']' : '}';
      } else if (c == '\0' || nesting_[--depth] != c) {
        return false;
      }
      ++at_;
    } while (depth > 0);
    token.text = {start, static_cast<std::size_t>(at_ - start)};
    token.quoted = false;
    token.escaped = false;
    return true;
  }

  const char* begin_;
  const char* end_;
  const char* at_;
  char nesting_[kMaxDepth];
};

/// Returns the position of the `{` if the text before the quote at `quote` reads `} , {`; npos
/// otherwise.
std::size_t EventStartBefore(std::string_view text, std::size_t quote) {
  const auto back_over_space = [&](std::size_t at) {
    while (at > 0 && IsSpace(text[at - 1])) --at;
    return at;
  };
  std::size_t at = back_over_space(quote);
  if (at == 0 || text[at - 1] != '{') return std::string_view::npos;
  const std::size_t start = at - 1;
  at = back_over_space(start);
  if (at == 0 || text[at - 1] != ',') return std::string_view::npos;
  at = back_over_space(at - 1);
  if (at == 0 || text[at - 1] != '}') return std::string_view::npos;
  return start;
}

/// Returns true if a member `"key" :` begins at `at`. Keys in events are short and plain.
bool IsMemberStart(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongestKey = 64;
  at = SkipSpace(text, at);
  if (at >= text.size() || text[at] != '"') return false;
  const std::size_t close = text.find('"', at + 1);
  if (close == std::string_view::npos || close - at > kLongestKey) return false;
  const std::size_t colon = SkipSpace(text, close + 1);
  return colon < text.size() && text[colon] == ':';
}

/// Returns true if the quote before `at` can end a string of an event, because structure follows
/// it.
bool CanEndString(std::string_view text, std::size_t at, bool is_key, bool in_array) {
  at = SkipSpace(text, at);
  if (at >= text.size()) return true;
  switch (text[at]) {
    case ':':
      return is_key;
    case ',': {
      if (is_key) return false;
      const std::size_t value = SkipSpace(text, at + 1);
      if (in_array)
        return value < text.size() &&
               (text[value] == '"' || text[value] == '[' || IsDigit(text[value]));
      return IsMemberStart(text, at + 1);
    }
    case '}': {
      if (is_key || in_array) return false;
      // The brace ends args or the event, so another brace, a comma, a ']' or the end must follow.
      const std::size_t after = SkipSpace(text, at + 1);
      return after >= text.size() || text[after] == '}' || text[after] == ',' || text[after] == ']';
    }
    case ']':
      return in_array;
    default:
      return false;
  }
}

constexpr auto kPowersOfTen = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& p : powers) {
    p = power;
    power *= 10;  // Wraps after 10^19, the last power needed; later digits are not stored.
  }
  return powers;
}();

}  // namespace

void RawEvent::Clear() {
  for (const ArgMember& arg : args) arg_at[static_cast<std::size_t>(arg.key)] = 0;
  args.clear();
  phase = category = name = process = thread = time = duration = id = id2 = scope = unit = Token();
}

ScanResult ScanEvent(std::string_view text, std::size_t at, RawEvent& event, std::size_t& next) {
  assert(text[at] == '{');
  return Scanner(text, at).Run(event, next);
}

ScanResult ScanMember(std::string_view text, std::size_t at, std::string_view stop_key, Token& key,
                      Token& value, std::size_t& next) {
  return Scanner(text, at).RunMember(stop_key, key, value, next);
}

ScanResult ScanElement(std::string_view text, std::size_t at, std::size_t& next) {
  return Scanner(text, at).RunElement(next);
}

std::size_t FindEventStart(std::string_view text, std::size_t from) {
  // In argument lists, few braces precede a quote, so this check comes first.
  for (std::size_t at = text.find('{', from); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    const std::size_t quote = SkipSpace(text, at + 1);
    if (quote < text.size() && text[quote] == '"' && EventStartBefore(text, quote) == at) return at;
  }
  return std::string_view::npos;
}

std::size_t FindLastEventStart(std::string_view text) {
  for (std::size_t at = text.rfind('{'); at != std::string_view::npos && at > 0;
       at = text.rfind('{', at - 1)) {
    const std::size_t quote = SkipSpace(text, at + 1);
    if (quote < text.size() && text[quote] == '"' && EventStartBefore(text, quote) == at) return at;
  }
  return std::string_view::npos;
}

std::string RepairStrings(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + 64);
  std::string nesting;
  bool expect_key = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '"') {
      out += c;
      if (c == '{' || c == '[') nesting += c;
      if ((c == '}' || c == ']') && !nesting.empty()) nesting.pop_back();
      const bool in_object = !nesting.empty() && nesting.back() == '{';
      if (c == '{' || (c == ',' && in_object)) expect_key = true;
      if (c == ':') expect_key = false;
      continue;
    }
    const bool in_array = !nesting.empty() && nesting.back() == '[';
    out += '"';
    for (++at; at < text.size(); ++at) {
      const char inner = text[at];
      if (inner == '"') {
        if (CanEndString(text, at + 1, expect_key && !in_array, in_array)) break;
        out += "\\\"";
      } else if (inner == '\\' && at + 1 < text.size() &&
                 std::strchr("\"\\/bfnrtu", text[at + 1]) != nullptr) {
        out += inner;
        out += text[++at];
      } else if (inner == '\\') {
        out += "\\\\";
      } else if (static_cast<unsigned char>(inner) < 0x20) {
        out += "\\u00";
        out += kHex[static_cast<unsigned char>(inner) >> 4];
        out += kHex[inner & 0xf];
      } else {
        out += inner;
      }
    }
    if (at < text.size()) out += '"';
  }
  return out;
}

bool ParseMicroseconds(std::string_view text, std::int64_t& nanoseconds) {
  // The value is digits * 10^-scale microseconds. At most 19 significant digits matter: a value
  // with more digits before the nanosecond place does not fit an int64.
  constexpr int kMaxDigits = 19;
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = p != end && *p == '-';
  if (negative || (p != end && *p == '+')) ++p;
  std::uint64_t digits = 0;
  int count = 0;
  std::int64_t scale = 0;
  bool any = false;
  int first_dropped = -1;
  for (bool point = false; p != end && (IsDigit(*p) || (*p == '.' && !point)); ++p) {
    if (*p == '.') {
      point = true;
      continue;
    }
    any = true;
    if (count < kMaxDigits) {
      digits = digits * 10 + static_cast<std::uint64_t>(*p - '0');
      if (digits != 0) ++count;
      if (point) ++scale;
    } else {
      if (first_dropped < 0) first_dropped = *p - '0';
      if (!point) --scale;
    }
  }
  if (!any) return false;
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool shrinks = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    std::uint32_t exponent = 0;
    const auto [stop, error] = std::from_chars(p, end, exponent);
    if (error == std::errc::invalid_argument || p == end || !IsDigit(*p)) return false;
    if (error == std::errc::result_out_of_range)
      exponent = UINT32_MAX;  // More than the length of any text.
    p = stop;
    scale += shrinks ? std::int64_t{exponent} : -std::int64_t{exponent};
  }
  if (p != end) return false;

  const std::int64_t shift = 3 - scale;  // Converts microseconds to nanoseconds.
  constexpr std::int64_t kLargestPower = std::size(kPowersOfTen) - 1;
  if (digits == 0 || shift < -kLargestPower - 1) {
    digits = 0;
  } else if (shift >= 0) {
    if (shift > kLargestPower || __builtin_mul_overflow(digits, kPowersOfTen[shift], &digits))
      return false;
    if (shift == 0 && first_dropped >= 5) ++digits;
  } else {
    digits /= kPowersOfTen[-shift - 1];
    digits = digits / 10 + (digits % 10 >= 5 ? 1 : 0);
  }
  if (digits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  nanoseconds = negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
  return true;
}

bool ParseInteger(std::string_view text, std::int64_t& value) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  if (hexadecimal && text.starts_with('-')) return false;  // from_chars would accept the sign.
  if (hexadecimal || text.starts_with('-')) {
    const auto [stop, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    return error == std::errc() && stop == text.data() + text.size() && !text.empty();
  }
  if (text.empty() || text.size() > 18) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size();
  }
  std::int64_t digits = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return false;
    digits = digits * 10 + (c - '0');
  }
  value = digits;
  return true;
}

}  // namespace headroom::kineto
