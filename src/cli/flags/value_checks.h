// Checks the values of flags during the parsing of the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

struct ValueCheck {
  /// Returns the error in a value; empty if the value is valid.
  std::function<std::string(const std::string& text)> wrong;
  /// Known values for help and completions, joined by '|'. "..." at the end allows others.
  std::string words = {};
};

/// Requires one of these words.
ValueCheck OneOf(std::vector<std::string> words);

/// Lists known words for help and completions. Accepts all values: the command checks them.
ValueCheck Known(std::span<const std::string_view> words);

/// Requires a non-empty value. An unset shell variable expands to an empty one.
ValueCheck NotEmpty();

/// Requires a comma-separated list of names, none of them empty.
ValueCheck NameList();

/// Requires a whole number from `min` to `max`, both included.
ValueCheck WholeNumber(std::int64_t min, std::int64_t max);

/// Requires a number from `min` to `max`, both included.
ValueCheck Between(double min, double max);

/// Requires a finite number above 0.
ValueCheck AboveZero();

}  // namespace headroom::cli
