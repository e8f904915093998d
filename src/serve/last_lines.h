// The end of what a program prints, line by line as a terminal shows it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A carriage return begins a line anew, as bars of progress do. Escape sequences of a terminal
/// (colours, moves of the cursor, titles) are left out; what else cannot be printed is for who
/// shows it.
class LastLines {
 public:
  static constexpr std::size_t kMaxLines = 20, kMaxBytes = 400;  ///< Of a line.

  void Append(std::string_view output);
  /// The one that is not ended yet, too, unless it is empty.
  std::vector<std::string> Now() const;

 private:
  /// Where in an escape sequence the output is.
  enum class Escape {
    kNone,
    kBegun,
    kSequence,    ///< Of a cursor or a colour, up to a letter.
    kText,        ///< Of a title or a link, up to BEL or ESC and a backslash.
    kTextEscape,  ///< Behind an ESC in it.
  };

  void Take(char c);
  /// Whether the character belongs to an escape sequence.
  bool TakeEscape(char c);

  std::deque<std::string> whole_;
  std::string line_;
  bool returned_ = false;  ///< The next character begins the line anew.
  Escape escape_ = Escape::kNone;
};

}  // namespace headroom
