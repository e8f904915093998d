// Checks of the values of flags, made while the command line is parsed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

struct ValueCheck {
  /// What is wrong with a value; empty: nothing.
  std::function<std::string(const std::string& text)> wrong;
  /// Values that are known, joined by '|', for help and completions; "..." at the end: among
  /// others.
  std::string words = {};
};

/// The text is one of these words.
ValueCheck OneOf(std::vector<std::string> words);

/// Names words that a flag takes and refuses nothing: the command judges the value when it reads
/// it.
ValueCheck Known(std::span<const std::string_view> words);

/// The text is not empty, as an unset variable of a shell is.
ValueCheck NotEmpty();

/// The text is a list of names with commas between them, none of which is empty.
ValueCheck NameList();

/// The text is a whole number in these limits, both included.
ValueCheck WholeNumber(std::int64_t min, std::int64_t max);

/// The text is a number in these limits, both included.
ValueCheck Between(double min, double max);

/// The text is a finite number above 0.
ValueCheck AboveZero();

}  // namespace headroom::cli
