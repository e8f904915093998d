// The tokenizer of Chrome-format trace events: finds one event object in a text and marks its
// fields. It does not interpret the fields and copies nothing.
//
// It is strict where damage must be noticed: strings must end, brackets must match, and separators
// must be present. It is lenient where profilers deviate from JSON: NaN, numbers in quotes, any
// order of members, doubled commas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "store/kineto_args.h"

namespace headroom::kineto {

/// Readable bytes required after the end of every text given to the scanner, which reads 16 bytes
/// at once. After the end of the whole buffer these bytes must be zero.
inline constexpr std::size_t kPadding = 32;

/// Deeper nesting inside an event counts as damage: profilers nest less than 8 deep. A hostile file
/// might nest event starts. After damage, reading resumes at the next event start, so each byte may
/// be scanned up to this many times.
inline constexpr std::size_t kMaxDepth = 64;

/// A JSON value as written: strings without their quotes, escapes not yet decoded.
struct Token {
  std::string_view text;
  bool quoted = false;
  bool escaped = false;  ///< Contains a backslash.

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
  Token unit;  ///< The unit of a counter. Not part of the format: `headroom export` adds it.
  std::vector<ArgMember> args;
  std::string_view text;  ///< The text from '{' to '}'.

  /// Returns the last member with this key, as most JSON readers do.
  Token Arg(KinetoArg key) const {
    const std::uint16_t at = arg_at[static_cast<std::size_t>(key)];
    return at == 0 ? Token() : args[at - 1].value;
  }
  void Clear();

  std::uint16_t arg_at[std::size(kKinetoArgNames)] = {};  ///< Position in args + 1; 0 if absent.
};

enum class ScanResult : std::uint8_t {
  kEvent,       ///< `event` is filled; `next` is just after its '}'.
  kIncomplete,  ///< The text ends inside the event.
  kDamaged,     ///< Not valid JSON at `next`.
};

/// Scans the event object that begins at `text[at]` (a '{'). Requires that `text` is a prefix of a
/// buffer with kPadding readable zero bytes after its end. O(length).
ScanResult ScanEvent(std::string_view text, std::size_t at, RawEvent& event, std::size_t& next);

/// Scans one member `"key": value` of an object; `at` is after its '{' or a ','. Stops before the
/// value if it is the array of a key named in `stop_key`: then `value` is absent and `next` is at
/// its '['. Requires the same padding.
ScanResult ScanMember(std::string_view text, std::size_t at, std::string_view stop_key, Token& key,
                      Token& value, std::size_t& next);

/// Scans one value of any kind at `text[at]`. Requires the same padding.
ScanResult ScanElement(std::string_view text, std::size_t at, std::size_t& next);

/// Returns the position of the next apparent event start, the '{' in `} , { "`, or npos. In valid
/// JSON this text can only be structure: inside a string, its quote would have to be escaped.
std::size_t FindEventStart(std::string_view text, std::size_t from);
/// Returns the position of the last apparent event start, or npos.
std::size_t FindLastEventStart(std::string_view text);

/// Rewrites the text of one damaged event: escapes quotes inside strings and control characters. A
/// quote ends a string only if the structure of an event can follow it.
std::string RepairStrings(std::string_view event_text);

/// Converts decimal microseconds ("4362613666018.331", "1.5e3", "-3") exactly to integer
/// nanoseconds. Fractions of 1 ns are rounded half away from zero. Returns false if the text is not
/// a number or does not fit.
bool ParseMicroseconds(std::string_view text, std::int64_t& nanoseconds);

/// Converts decimal or 0x-hexadecimal text to an integer. Returns false if it is not an integer or
/// does not fit.
bool ParseInteger(std::string_view text, std::int64_t& value);

}  // namespace headroom::kineto
