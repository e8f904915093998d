// Rules for names from data/rules/*.toml: lists of tables, each with a regular expression and
// examples that test it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// Assigns `value` to names in which `match` is found.
struct NameRule {
  std::string where;  ///< For messages: "rule 3 of [[family]]".
  std::string value;
  std::string match;                     ///< RE2, never empty; not compiled yet.
  std::vector<std::string> examples;     ///< Names that must match; at least one.
  std::vector<std::string> near_misses;  ///< Names that must not match.
};

/// Keys of the rules in one list: `match`, `examples` and `value_key`.
struct RuleFormat {
  std::string_view list;       ///< "family" for [[family]].
  std::string_view value_key;  ///< "is".
  bool explained = false;      ///< Also requires `about`, a sentence, and `not`, the near misses.
};

/// Returns the rules of each list, in the order of `formats` and of the file. Fails with kBadInput
/// if a list, or a key of a rule, is missing or unknown. The message names the file, the rule and
/// the remedy.
Result<std::vector<std::vector<NameRule>>> ReadRules(const NamedText& file,
                                                     std::span<const RuleFormat> formats);

/// Returns the error for a rule file with a value or expression that the caller refuses.
Status BadRules(const NamedText& file, std::string_view what);

}  // namespace headroom
