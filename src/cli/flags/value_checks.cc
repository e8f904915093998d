#include "cli/flags/value_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"

namespace headroom::cli {
namespace {

/// Parses the whole text as a finite number. Returns nullopt if it is not one.
std::optional<double> NumberIn(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

ValueCheck OneOf(std::vector<std::string> words) {
  std::string known = fmt::format("{}", fmt::join(words, "|"));
  return {
      [words = std::move(words)](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        const std::vector<std::string_view> near = NearNames(text, {words.begin(), words.end()});
        return fmt::format("{} is not one of {}{}{}", text, fmt::join(words, ", "),
                           near.empty() ? "" : "; did you mean ", fmt::join(near, ", "));
      },
      std::move(known)};
}

ValueCheck Known(std::span<const std::string_view> words) {
  return {[](const std::string&) { return std::string(); },
          fmt::format("{}|...", fmt::join(words, "|"))};
}

ValueCheck NotEmpty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }};
}

ValueCheck NameList() {
  return {[](const std::string& text) {
    const bool has_gap = text.empty() || text.front() == ',' || text.back() == ',' ||
                         text.find(",,") != std::string::npos;
    return has_gap ? fmt::format("'{}' has an empty name", text) : std::string();
  }};
}

ValueCheck WholeNumber(std::int64_t min, std::int64_t max) {
  return {[=](const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= min && value <= max) return std::string();
    return fmt::format("{} is not a whole number from {} to {}", text, min, max);
  }};
}

ValueCheck Between(double min, double max) {
  return {[=](const std::string& text) {
    const std::optional<double> number = NumberIn(text);
    if (number && *number >= min && *number <= max) return std::string();
    return fmt::format("{} is not a number from {} to {}", text, min, max);
  }};
}

ValueCheck AboveZero() {
  return {[](const std::string& text) {
    const std::optional<double> number = NumberIn(text);
    return number && *number > 0 ? std::string() : text + " is not a number above 0";
  }};
}

}  // namespace headroom::cli
