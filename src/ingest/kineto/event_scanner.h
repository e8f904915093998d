// The tokenizer of Chrome-format trace events: finds one event object in a text and marks its
// fields. It gives no meaning to them and copies nothing.
//
// Strict where damage must be noticed (strings end, brackets match, separators are there), lenient
// where profilers are (NaN, numbers in quotes, any order of members, doubled commas).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "store/kineto_args.h"

namespace headroom::kineto {

/// Bytes that must be readable after the end of every text given to the scanner, and zero after the
/// end of what it is part of: it looks at 16 bytes at once.
inline constexpr std::size_t kPadding = 32;

/// Deeper nesting inside an event is damage: profilers nest less than 8 deep, and a hostile file
/// might nest event starts. At damage reading goes on at the next of them, so each byte may be
/// scanned this many times.
inline constexpr std::size_t kMaxDepth = 64;

/// A JSON value as written: for strings without the quotes, escapes not yet resolved.
struct Token {
  std::string_view text;
  bool quoted = false;
  bool escaped = false;  ///< Holds a backslash.

  bool present() const { return text.data() != nullptr; }
};

struct ArgMember {
  KinetoArg key;
  std::string_view key_text;
  std::string_view whole;  ///< `"key": value`, as written.
  Token value;
};

/// The fields of one event, as views into its text.
struct RawEvent {
  Token phase, category, name, process, thread, time, duration, id, id2, scope;
  Token unit;  ///< Of a counter; not of the format, but what `headroom export` adds to it.
  std::vector<ArgMember> args;
  std::string_view text;  ///< From '{' to '}'.

  /// The last member with this key wins, as in most JSON readers.
  Token Arg(KinetoArg key) const {
    const std::uint16_t at = arg_at[static_cast<std::size_t>(key)];
    return at == 0 ? Token() : args[at - 1].value;
  }
  void Clear();

  std::uint16_t arg_at[std::size(kKinetoArgNames)] = {};  ///< Position in args + 1, or 0.
};

enum class ScanResult : std::uint8_t {
  kEvent,       ///< `event` is filled; `next` is just after its '}'.
  kIncomplete,  ///< The text ends inside the event.
  kDamaged,     ///< Not valid JSON at `next`.
};

/// Scans the event object that begins at `text[at]` (a '{'). REQUIRES: `text` begins a text that
/// kPadding readable zero bytes follow. O(length).
ScanResult ScanEvent(std::string_view text, std::size_t at, RawEvent& event, std::size_t& next);

/// Scans one member `"key": value` of an object whose '{' or ',' lies before `at`. Stops before the
/// value where it is the array of a key named in `stop_key`: then `value` is absent and `next` is
/// at its '['. The same padding is required.
ScanResult ScanMember(std::string_view text, std::size_t at, std::string_view stop_key, Token& key,
                      Token& value, std::size_t& next);

/// Scans one value of any kind at `text[at]`. The same padding is required.
ScanResult ScanElement(std::string_view text, std::size_t at, std::size_t& next);

/// The position of the next place that looks like a new event: the '{' in `} , { "`. In valid JSON
/// this text can only be structure: inside a string, its quote would have to be escaped. Returns
/// npos where there is none.
std::size_t FindEventStart(std::string_view text, std::size_t from);
/// The last such place, or npos.
std::size_t FindLastEventStart(std::string_view text);

/// Rewrites the text of one damaged event: quotes inside strings and control characters are
/// escaped. A quote ends a string only where the structure of an event can go on after it.
std::string RepairStrings(std::string_view event_text);

/// Microseconds as decimal text ("4362613666018.331", "1.5e3", "-3") to integer nanoseconds,
/// exactly, rounded half away from zero below 1 ns. False where the text is no number or does not
/// fit.
bool ParseMicroseconds(std::string_view text, std::int64_t& nanoseconds);

/// Decimal or 0x-hexadecimal text to an integer. False where it is none or does not fit.
bool ParseInteger(std::string_view text, std::int64_t& value);

}  // namespace headroom::kineto
