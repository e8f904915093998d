#include "redact/mangled_name.h"

#include <cstddef>

#include "base/ascii.h"

namespace headroom {
namespace {

/// Returns the end of a number's digits.
std::size_t EndOfDigits(std::string_view word, std::size_t at) {
  while (at < word.size() && IsDigit(word[at])) ++at;
  return at;
}

/// Returns the end of a part with digits that is not an identifier; `at` if none begins there.
/// - a literal's value ("Li128E", "Lin1E")
/// - a substitution ("S1A_")
/// - a parameter ("T10_", "fp0_")
/// - an array length ("A10_", "Dv4_")
/// - a width ("DF16b")
std::size_t EndOfNumber(std::string_view word, std::size_t at) {
  const std::string_view rest = word.substr(at);
  const auto digits_to = [&](std::size_t from, std::string_view ends, bool capitals) {
    std::size_t stop = at + from;
    while (stop < word.size() && (IsDigit(word[stop]) || (capitals && IsUpper(word[stop])))) ++stop;
    const bool ended =
        stop > at + from && stop < word.size() && ends.find(word[stop]) != std::string_view::npos;
    return ended ? stop + 1 : at;
  };
  if (rest.starts_with('L') && rest.size() > 2 && IsLower(rest[1]))
    return digits_to(rest[2] == 'n' ? 3 : 2, "E", false);
  if (rest.starts_with('S')) return digits_to(1, "_", true);
  if (rest.starts_with('T') || rest.starts_with('A')) return digits_to(1, "_", false);
  if (rest.starts_with("DF")) return digits_to(2, "b_x", false);
  if (rest.starts_with("Dv") || rest.starts_with("fp")) return digits_to(2, "_", false);
  // An enumerator's value follows the enumeration: "LNS1_4KindE0E".
  if (rest.starts_with('E')) {
    const std::size_t end = digits_to(1, "E", false);
    return end > at ? end - 1 : at;
  }
  return at;
}

/// Returns true if letters between identifiers can be types, such as "PKcii".
bool AreTypes(std::string_view letters) {
  constexpr std::string_view kCodes = "vwbcahstijlmxynofdegz";
  constexpr std::size_t kAlwaysOfMangling = 3;
  return letters.size() <= kAlwaysOfMangling ||
         letters.find_first_not_of(kCodes) == std::string_view::npos;
}

}  // namespace

bool IsMangled(std::string_view word) {
  if (!word.starts_with("_Z")) return false;
  // Letters that can precede the first identifier.
  constexpr std::string_view kBefore = "LNKZTVISG";
  const std::size_t first = word.find_first_not_of(kBefore, 2);
  return first != std::string_view::npos &&
         (IsDigit(word[first]) || (word[first - 1] == 'S' && IsLower(word[first])));
}

std::string WithIdentifiers(std::string_view word,
                            const std::function<std::string(std::string_view)>& replace) {
  std::string out(word.substr(0, 2));
  for (std::size_t at = 2; at < word.size();) {
    if (const std::size_t end = EndOfNumber(word, at); end > at) {
      out += word.substr(at, end - at);
      at = end;
      continue;
    }
    if (IsLower(word[at])) {
      std::size_t end = at;
      while (end < word.size() && IsLower(word[end])) ++end;
      const std::string_view letters = word.substr(at, end - at);
      out += AreTypes(letters) ? std::string(letters) : replace(letters);
      at = end;
      continue;
    }
    if (!IsDigit(word[at])) {
      out += word[at++];
      continue;
    }
    const std::size_t begin = EndOfDigits(word, at);
    std::size_t length = 0;
    for (std::size_t i = at; i < begin && length <= word.size(); ++i)
      length = length * 10 + static_cast<std::size_t>(word[i] - '0');
    if (length == 0) {  // 0 is not a length: it distinguishes equal names in one scope.
      out += word.substr(at, begin - at);
      at = begin;
      continue;
    }
    // A truncated name, or one that does not follow this ABI, extends to the end of the word.
    const std::string_view identifier = word.substr(begin, length);
    const std::string now = replace(identifier);
    const bool is_whole = identifier.size() == length;
    out += is_whole ? std::to_string(now.size()) : std::string(word.substr(at, begin - at));
    out += now;
    at = begin + identifier.size();
  }
  return out;
}

}  // namespace headroom
