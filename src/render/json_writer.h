// A streaming JSON writer that keeps the order of keys and prints times exactly from integers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace headroom {

/// Returns `value` / 10^`decimals` in the shortest decimal form: 1'500'000 with 6 is "1.5", 1 is
/// "0.000001".
std::string DecimalOf(std::int64_t value, int decimals);

/// Returns `total` over `count` in microseconds, to the picosecond. With nanosecond rounding, count
/// times the mean would differ from the total. REQUIRES: count > 0.
std::string MeanUs(DurationNs total, std::int64_t count);

/// Appends one JSON value to a string. REQUIRES: calls nest as JSON does; inside an object each
/// value follows a Key().
class JsonWriter {
 public:
  /// Layout of a container's members.
  enum class Layout {
    kLines,   ///< One member per line.
    kInline,  ///< All on one line, including nested containers.
  };

  void BeginObject(Layout layout = Layout::kInline) { Begin('{', layout); }
  void BeginArray(Layout layout = Layout::kInline) { Begin('[', layout); }
  void EndObject() { End('}'); }
  void EndArray() { End(']'); }
  JsonWriter& Key(std::string_view key);

  void Null() { Raw("null"); }
  void String(std::string_view text);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Integer(std::int64_t value);
  /// Writes the shortest form that parses to the same value; null if the value is not finite.
  void Number(double value);
  void Milliseconds(DurationNs duration) { Raw(DecimalOf(duration.ns(), 6)); }
  void Microseconds(DurationNs duration) { Raw(DecimalOf(duration.ns(), 3)); }

  /// Writes null for an absent value.
  void Integer(std::optional<std::int64_t> value) { value ? Integer(*value) : Null(); }
  void Number(std::optional<double> value) { value ? Number(*value) : Null(); }
  void Milliseconds(std::optional<DurationNs> duration) {
    duration ? Milliseconds(*duration) : Null();
  }
  void Microseconds(std::optional<DurationNs> duration) {
    duration ? Microseconds(*duration) : Null();
  }
  /// Writes null for an empty string.
  void StringOrNull(std::string_view text) { text.empty() ? Null() : String(text); }

  /// Writes a number or word that is already JSON.
  void Raw(std::string_view json);

  std::string Take() && { return std::move(out_); }

 private:
  struct Level {
    Layout layout;
    bool empty = true;
  };

  void Begin(char bracket, Layout layout);
  void End(char bracket);
  void NewLine();
  /// Writes a comma and white space before the next member.
  void Separate();

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace headroom
