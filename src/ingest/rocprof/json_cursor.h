// Walks the values of a JSON text that may end before they do. Copies nothing but texts with
// escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace headroom::rocprof {

/// One pass over a text. After a failure every call fails, so that loops over members end.
///
///   cursor.Enter('{');
///   for (std::string_view key; cursor.NextMember(key);) { ...one of Integer(), Text(), Skip()... }
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

  /// The first character of the next value; 0 where there is none.
  char Peek() {
    SkipWhite();
    return fine() ? *p_ : '\0';
  }
  /// Goes into an object or array. False where the next value is another.
  bool Enter(char open) {
    if (Peek() != open) return Fail();
    ++p_;
    first_ = true;
    return true;
  }
  /// Goes to the value of the next member; false behind the last, whose '}' is taken. The key is as
  /// written: escapes are not decoded.
  bool NextMember(std::string_view& key);
  /// The same in an array.
  bool NextElement();

  /// The next value as an integer of 64 bits, a negative one as its two's complement. False where
  /// it is none, and it is passed over.
  bool Integer(std::uint64_t& value);
  /// The same as a floating-point number.
  bool Number(double& value);
  /// The next value as text, in the input or where it has escapes in `scratch`. False where it is
  /// none, and it is passed over.
  bool Text(std::string_view& text, std::string& scratch);
  /// Passes over the next value. Brackets are counted, not matched by kind.
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
  /// The comma before all members but the first. False at the closing bracket, which is taken.
  bool NextItem(char close);
  /// A string as written, without its quotes.
  bool Quoted(std::string_view& text, bool& has_escapes);

  const char* begin_;
  const char* p_;
  const char* end_;
  State state_ = State::kFine;
  bool first_ = false;
};

}  // namespace headroom::rocprof
