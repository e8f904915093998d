// Walks the values of a JSON text that may be truncated. Copies only texts with escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace headroom::rocprof {

/// One pass over a text. After a failure every call fails, so that loops over members end.
///
/// cursor.Enter('{');
/// for (std::string_view key; cursor.NextMember(key);) { ...one of Integer(), Text(), Skip()... }
class JsonCursor {
 public:
  enum class State : std::uint8_t {
    kFine,
    kCut,      ///< The text ends inside the value.
    kDamaged,  ///< Not JSON at consumed().
  };

  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), p_(text.data()), end_(text.data() + text.size()) {}

  State state() const { return state_; }
  bool fine() const { return state_ == State::kFine; }
  std::size_t consumed() const { return static_cast<std::size_t>(p_ - begin_); }

  /// Returns the first character of the next value, or 0 at the end of the text.
  char Peek() {
    SkipWhite();
    return fine() ? *p_ : '\0';
  }
  /// Enters an object or array. Returns false if the next value is of another type.
  bool Enter(char open) {
    if (Peek() != open) return Fail();
    ++p_;
    first_ = true;
    return true;
  }
  /// Moves to the value of the next member. Returns false after the last one, and consumes the '}'.
  /// The key is returned as written: escapes are not decoded.
  bool NextMember(std::string_view& key);
  /// Moves to the next element of an array in the same way.
  bool NextElement();

  /// Reads the next value as a 64-bit integer; a negative one as its two's complement. Returns
  /// false if it is not an integer, and skips it.
  bool Integer(std::uint64_t& value);
  /// Reads the next value as a floating-point number in the same way.
  bool Number(double& value);
  /// Reads the next value as text: a view of the input, or of `scratch` if it has escapes. Returns
  /// false if it is not text, and skips it.
  bool Text(std::string_view& text, std::string& scratch);
  /// Skips the next value. Counts brackets without matching their kinds.
  void Skip();

 private:
  bool Fail(State state = State::kDamaged) {
    if (fine()) state_ = state;
    return false;
  }
  void SkipWhite() {
    while (p_ != end_ && IsSpace(*p_)) ++p_;
    if (p_ == end_) Fail(State::kCut);
  }
  /// Skips the comma before each member but the first. Returns false at the closing bracket, and
  /// consumes it.
  bool NextItem(char close);
  /// Reads a string as written, without its quotes.
  bool Quoted(std::string_view& text, bool& has_escapes);

  const char* begin_;
  const char* p_;
  const char* end_;
  State state_ = State::kFine;
  bool first_ = false;
};

}  // namespace headroom::rocprof
