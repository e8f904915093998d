// The value of a stat of an XPlane event.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::xplane {

struct StatValue {
  enum class Type : std::uint8_t { kNone, kNumber, kUnsigned, kSigned, kText } type = Type::kNone;
  double number = 0;
  std::int64_t integer = 0;  ///< Value of kSigned, or the bits of kUnsigned.
  std::string_view text;     ///< View of the plane's text.

  static StatValue OfText(std::string_view text) { return {Type::kText, 0, 0, text}; }

  /// Returns the value as an integer; kUnknown if it is not one.
  std::int64_t Integer() const;
  /// Appends the value as JSON.
  void AppendTo(std::string& out) const;

  /// Returns true if AppendTo() writes both values identically. Positive and negative zero differ.
  bool operator==(const StatValue& other) const {
    return type == other.type && integer == other.integer && text == other.text &&
           std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(other.number);
  }
};

}  // namespace headroom::xplane
