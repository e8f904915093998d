#include "redact/value_text.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

namespace headroom {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

}  // namespace

void TakeBlanks(std::string_view& before) {
  while (!before.empty() && IsBlank(before.back())) before.remove_suffix(1);
}

bool IsPrefixOfQuoted(std::string_view text) {
  constexpr std::string_view kLetters = "bBfFrRuU";
  const std::size_t quote = std::min(text.find_first_not_of(kLetters), text.size());
  return quote > 0 && quote <= 2 && quote < text.size() && IsQuote(text[quote]);
}

std::string_view TakeOpening(std::string_view& before) {
  if (before.empty() || !IsQuote(before.back())) return {};
  const std::string_view whole = before;
  const char quote = before.back();
  std::size_t quotes = 0;
  while (quotes < 3 && !before.empty() && before.back() == quote) {
    before.remove_suffix(1);
    ++quotes;
  }
  // Two quotes are an empty string.
  if (quotes == 2) before = whole.substr(0, whole.size() - 1);
  while (!before.empty() && before.back() == '\\') before.remove_suffix(1);
  const std::string_view opening = whole.substr(before.size());
  for (std::size_t letters = 2; letters > 0; --letters) {
    if (before.size() <= letters) continue;
    const std::size_t begin = before.size() - letters;
    if (!IsLetter(before[begin - 1]) && IsPrefixOfQuoted(whole.substr(begin))) {
      before = before.substr(0, begin);
      break;
    }
  }
  return opening;
}

std::string_view TakeSign(std::string_view& before, bool is_quoted) {
  for (const std::string_view sign : {"=>", ":=", "=", ":", "("}) {
    if (!before.ends_with(sign) || (sign == "(" && !is_quoted)) continue;
    before.remove_suffix(sign.size());
    TakeBlanks(before);
    if (!before.empty() && IsQuote(before.back())) before.remove_suffix(1);
    while (!before.empty() && before.back() == '\\') before.remove_suffix(1);
    return sign;
  }
  return {};
}

}  // namespace headroom
