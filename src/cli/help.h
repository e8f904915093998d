// The help text of a command: as wide as every other output, flags by group.
#pragma once

#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

/// Lays help out in at most 100 columns. A subcommand's flags come from its groups, its examples
/// from its footer.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

/// A check that a text is one of these, which adds nothing to the help. Its name is the words,
/// joined by '|', for who describes the flag.
CLI::Validator OneOf(std::vector<std::string> words);

/// Words that a flag is known to take, under a name as that of OneOf() with "|..." behind it. It
/// refuses nothing: what else may be said is judged where the value is read.
CLI::Validator Known(std::span<const std::string_view> words);

/// A check that a text is not empty, as a variable of a shell may be that is not set; it adds
/// nothing to the help.
CLI::Validator NotEmpty();

/// A check that names are joined by commas, none of which is empty; it adds nothing to the help.
CLI::Validator NameList();

/// A check that a text is a whole number in these limits, which adds nothing to the help.
CLI::Validator WholeNumber(std::int64_t least, std::int64_t most);

/// A check that a number lies in these limits, both included; it adds nothing to the help.
CLI::Validator Between(double least, double most);

/// A check that a number is above 0, which adds nothing to the help.
std::string AboveZero(const std::string& text);

}  // namespace headroom::cli
