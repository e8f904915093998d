// Texts that the user asks to remove everywhere: words, and matches of regular expressions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace re2 {
class RE2;
}

namespace headroom {

/// Immutable and thread-safe; copies share their expressions.
class AskedTexts {
 public:
  struct Span {
    std::size_t begin, end;
    bool is_word;  ///< True for a word, false for a match of an expression.
  };

  AskedTexts() = default;
  /// Fails with kUsage, and names the argument, if a word is too short, or if an expression is
  /// invalid or matches the empty string.
  ///
  /// @param words     words of at least two bytes; found regardless of the case of ASCII letters,
  /// also within longer words
  /// @param patterns  RE2 expressions
  static Result<AskedTexts> Compile(const std::vector<std::string>& words,
                                    const std::vector<std::string>& patterns);

  bool empty() const { return words_.empty() && patterns_.empty(); }
  /// Returns the spans to remove, in order and without overlap. If two spans overlap, the span that
  /// begins first is whole, and the rest of the other is a separate span. Takes O((words +
  /// expressions) x bytes).
  std::vector<Span> SpansOf(std::string_view text) const;
  /// Words in lower case.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

}  // namespace headroom
