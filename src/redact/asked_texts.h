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
    bool is_word;  ///< From a word, not from an expression.
  };

  AskedTexts() = default;
  /// Fails with kUsage and names the text if it is too short, is not an expression, or matches the
  /// empty text.
  ///
  /// @param words     at least two bytes each; found in any case of ASCII letters, also within
  /// longer words
  /// @param patterns  RE2 expressions
  static Result<AskedTexts> Compile(const std::vector<std::string>& words,
                                    const std::vector<std::string>& patterns);

  bool empty() const { return words_.empty() && patterns_.empty(); }
  /// Returns the spans to remove, in order and without overlap. Of two overlapping spans, the one
  /// that begins first wins, then the longer one. O(words and expressions x bytes).
  std::vector<Span> SpansOf(std::string_view text) const;
  /// Words in lower case.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

}  // namespace headroom
