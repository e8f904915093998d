// What the user asks to be removed wherever it stands: words, and what regular expressions match.
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

/// Immutable; thread-safe; copies share their expressions.
class AskedTexts {
 public:
  struct Span {
    std::size_t begin, end;
    bool is_word;  ///< Of a word, not of an expression.
  };

  AskedTexts() = default;
  /// @param words     found in any case of ASCII letters, also within longer words; two bytes or
  ///                  more each
  /// @param patterns  RE2 expressions
  /// Fails (kUsage) naming the text that is too short, is no expression or matches the empty text.
  static Result<AskedTexts> Compile(const std::vector<std::string>& words,
                                    const std::vector<std::string>& patterns);

  bool empty() const { return words_.empty() && patterns_.empty(); }
  /// What is to go, in order and without overlap: of two that overlap the one that begins first,
  /// of those the longer. O(words and expressions x bytes).
  std::vector<Span> SpansOf(std::string_view text) const;
  /// In lower case.
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

}  // namespace headroom
