// The last lines of a program's output, as a terminal shows them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Restarts a line at a carriage return, which progress bars print. Removes a terminal's escape
/// sequences (colours, cursor moves, titles). The caller must handle other unprintable characters.
class LastLines {
 public:
  static constexpr std::size_t kMaxLines = 20, kMaxBytes = 400;  ///< kMaxBytes is per line.

  void Append(std::string_view output);
  /// Includes the unfinished last line, unless it is empty.
  std::vector<std::string> Now() const;

 private:
  /// Position in an escape sequence.
  enum class Escape {
    kNone,
    kBegun,
    kSequence,    ///< Cursor or colour sequence, up to a letter.
    kText,        ///< Title or link, up to BEL or ESC and a backslash.
    kTextEscape,  ///< After an ESC inside the text.
  };

  void Take(char c);
  /// Returns true if the character belongs to an escape sequence.
  bool TakeEscape(char c);

  std::deque<std::string> whole_;
  std::string line_;
  bool returned_ = false;  ///< The next character restarts the line.
  Escape escape_ = Escape::kNone;
};

}  // namespace headroom
