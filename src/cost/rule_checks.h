// Checks that the tests of both rule files apply to every rule.
#pragma once

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cost/rule_file.h"

namespace headroom {

/// Returns the top-level alternatives of a regular expression, each with the flags ("(?i)") that
/// apply to it.
inline std::vector<std::string> Alternatives(std::string_view match) {
  std::vector<std::string> alternatives(1);
  std::string flags;
  int depth = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < match.size(); ++i) {
    const char c = match[i];
    if (c == '|' && depth == 0 && !in_class) {
      alternatives.push_back(flags);
      continue;
    }
    if (!in_class && match.substr(i).starts_with("(?i)")) flags = "(?i)";
    if (in_class ? c == ']' : c == '[') in_class = !in_class;
    if (!in_class && c == '(') ++depth;
    if (!in_class && c == ')') --depth;
    alternatives.back() += c;
    if (c == '\\' && i + 1 < match.size()) alternatives.back() += match[++i];
  }
  return alternatives;
}

/// Expects an example for each alternative. An alternative without an example may be wrong,
/// unreachable or useless.
inline void ExpectAnExampleForEachAlternative(const NameRule& rule) {
  for (const std::string& alternative : Alternatives(rule.match)) {
    const RE2 pattern(alternative);
    ASSERT_TRUE(pattern.ok()) << rule.where << ": " << alternative;
    EXPECT_TRUE(std::any_of(
        rule.examples.begin(), rule.examples.end(),
        [&](const std::string& example) { return RE2::PartialMatch(example, pattern); }))
        << rule.where << ", " << rule.value << ": no example for " << alternative;
  }
}

}  // namespace headroom
