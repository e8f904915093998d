// Scans the kernel's small text files: lines, words and numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

/// Iterates over the lines of a string, without line ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool Next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

/// Parses all of `text` as a number. Returns nullopt if it is not a number or does not fit into T.
template <typename T = std::uint64_t>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Iterates over the words of a line, separated by blanks and tabs.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  /// Returns the next word; empty at the end.
  std::string_view Next() {
    SkipBlanks();
    std::size_t end = 0;
    while (end < rest_.size() && !IsBlank(rest_[end])) ++end;
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

  template <typename T = std::uint64_t>
  std::optional<T> NextNumber() {
    return ParseNumber<T>(Next());
  }

  void Skip(int words) {
    for (int i = 0; i < words; ++i) Next();
  }

  /// Returns the rest of the line, without leading blanks.
  std::string_view Rest() {
    SkipBlanks();
    return rest_;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_.front())) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

}  // namespace headroom
