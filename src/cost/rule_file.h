// Rules for names as data/rules/*.toml write them: lists of tables, each with an expression and the
// examples that prove it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// Names in which `match` is found mean `value`.
struct NameRule {
  std::string where;  ///< For messages: "rule 3 of [[family]]".
  std::string value;
  std::string match;                     ///< RE2, never empty; not compiled yet.
  std::vector<std::string> examples;     ///< Names that must match; at least one.
  std::vector<std::string> near_misses;  ///< Names that must not.
};

/// The keys of one list of rules: `match`, `examples` and `value_key`.
struct RuleFormat {
  std::string_view list;       ///< "family" for [[family]].
  std::string_view value_key;  ///< "is".
  bool explained = false;      ///< Also `about`, a sentence, and `not`, the near misses.
};

/// The rules of each list, in the order of `formats` and of the file. Every list must be there, and
/// every key in every rule; nothing else may be. BadInput names the file, the rule and the remedy.
Result<std::vector<std::vector<NameRule>>> ReadRules(const NamedText& file,
                                                     std::span<const RuleFormat> formats);

/// The failure of a rule file, for what only its user can judge: a value, an expression.
Status BadRules(const NamedText& file, std::string_view what);

}  // namespace headroom
