#include "redact/asked_texts.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"

namespace headroom {

Result<AskedTexts> AskedTexts::Compile(const std::vector<std::string>& words,
                                       const std::vector<std::string>& patterns) {
  AskedTexts asked;
  for (const std::string& word : words) {
    if (word.size() < 2)
      return Status::Usage(fmt::format("--word '{}': give at least two characters", word));
    asked.words_.push_back(LowerCase(word));
  }
  for (const std::string& pattern : patterns) {
    auto regex = std::make_shared<const re2::RE2>(pattern, re2::RE2::Quiet);
    if (!regex->ok()) {
      return Status::Usage(fmt::format(
          "--pattern '{}': not a valid RE2 expression ({}); correct it", pattern, regex->error()));
    }
    if (re2::RE2::FullMatch("", *regex)) {
      return Status::Usage(fmt::format(
          "--pattern '{}': matches the empty string, which occurs everywhere; use '+' (one or "
          "more) instead of '*'",
          pattern));
    }
    asked.patterns_.push_back(std::move(regex));
  }
  return asked;
}

std::vector<AskedTexts::Span> AskedTexts::SpansOf(std::string_view text) const {
  std::vector<Span> found;
  if (empty() || text.empty()) return found;
  const std::string lower = words_.empty() ? std::string() : LowerCase(text);
  for (const std::string& word : words_) {
    for (std::size_t at = lower.find(word); at != std::string::npos;
         at = lower.find(word, at + word.size()))
      found.push_back({at, at + word.size(), true});
  }
  const re2::StringPiece all(text.data(), text.size());
  for (const auto& regex : patterns_) {
    re2::StringPiece match;
    for (std::size_t at = 0;
         at < text.size() && regex->Match(all, at, text.size(), re2::RE2::UNANCHORED, &match, 1);) {
      const auto begin = static_cast<std::size_t>(match.data() - text.data());
      if (!match.empty()) found.push_back({begin, begin + match.size(), false});
      at = std::max(begin + match.size(), at + 1);
    }
  }
  std::sort(found.begin(), found.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Span> apart;
  for (const Span& span : found) {
    if (apart.empty() || span.begin >= apart.back().end) {
      apart.push_back(span);
    } else if (span.end > apart.back().end) {
      // The rest of an overlapping span must be removed too.
      apart.push_back({apart.back().end, span.end, span.is_word});
    }
  }
  return apart;
}

}  // namespace headroom
