#include "redact/key_text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ascii.h"
#include "base/text.h"

namespace headroom {
namespace {

bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }
/// Of base64 for URLs, in which keys are written.
bool IsKeyByte(char c) { return IsAlphanumeric(c) || c == '_' || c == '-'; }

using Match = bool (*)(char);
std::size_t RunOf(std::string_view text, std::size_t at, Match is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

struct Issuer {
  std::string_view prefix;
  std::size_t least;  ///< Bytes behind the prefix.
};

/// As published; each key has many more bytes.
constexpr Issuer kIssuers[] = {
    {"AKIA", 12},    {"ASIA", 12},  {"AROA", 12},    {"AIDA", 12},       {"AIza", 20},
    {"ghp_", 8},     {"gho_", 8},   {"ghu_", 8},     {"ghs_", 8},        {"ghr_", 8},
    {"hf_", 20},     {"glpat-", 8}, {"npm_", 20},    {"github_pat_", 8}, {"pypi-", 16},
    {"xoxb-", 6},    {"xoxp-", 6},  {"xoxa-", 6},    {"xoxr-", 6},       {"xoxs-", 6},
    {"xapp-", 6},    {"sk-", 16},   {"sk_live_", 8}, {"sk_test_", 8},    {"pk_live_", 8},
    {"rk_live_", 8}, {"ya29.", 8},  {"dop_v1_", 8},  {"SG.", 16},        {"nvapi-", 8},
};

/// Resources of a cloud, with 8 hexadecimal digits or 17 behind them.
constexpr std::string_view kResources[] = {"i-",   "vol-", "vpc-",  "subnet-", "sg-",
                                           "ami-", "eni-", "snap-", "rtb-",    "igw-",
                                           "lt-",  "fs-",  "vpce-"};
constexpr std::size_t kFewestDigits = 8;

/// Whether a number was counted or measured: "17", "1010.25", "17/128", "3.5ms".
bool IsCount(std::string_view text) {
  constexpr std::size_t kLongestUnit = 2;
  std::size_t end = 0;
  while (end < text.size() &&
         (IsDigit(text[end]) || (end > 0 && (text[end] == '.' || text[end] == '/'))))
    ++end;
  const std::string_view unit = text.substr(end);
  return end > 0 &&
         (unit == "%" || (unit.size() <= kLongestUnit && RunOf(unit, 0, IsLetter) == unit.size()));
}

/// Whether what follows a prefix is no name of words: digits, or letters in both cases.
bool LooksDrawn(std::string_view text) {
  const auto digits = std::count_if(text.begin(), text.end(), IsDigit);
  return digits > 1 || (std::any_of(text.begin(), text.end(), IsUpper) &&
                        std::any_of(text.begin(), text.end(), IsLower));
}

/// "eyJhbGciOi.eyJzdWIiOi.SflKxwRJ": base64 of what begins as an object, between dots.
std::size_t SignedTokenAt(std::string_view text, std::size_t at) {
  constexpr std::size_t kShortest = 12;
  if (!text.substr(at).starts_with("eyJ")) return at;
  std::size_t end = RunOf(text, at, IsKeyByte);
  if (end - at < kShortest) return at;
  while (end + 1 < text.size() && text[end] == '.' && IsKeyByte(text[end + 1]))
    end = RunOf(text, end + 1, IsKeyByte);
  return end;
}

}  // namespace

std::size_t IssuedKeyAt(std::string_view text, std::size_t at) {
  if (at > 0 && IsAlphanumeric(text[at - 1])) return at;
  const std::string_view rest = text.substr(at);
  for (const Issuer& issuer : kIssuers) {
    if (!rest.starts_with(issuer.prefix)) continue;
    const std::size_t end = RunOf(text, at + issuer.prefix.size(), IsKeyByte);
    const std::size_t begin = at + issuer.prefix.size();
    // "hf_transformers_attention" is a name; of capitals none begins so.
    const bool is_name = IsLower(issuer.prefix[0]) && !LooksDrawn(text.substr(begin, end - begin));
    if (end >= begin + issuer.least && !is_name) return end;
  }
  for (const std::string_view resource : kResources) {
    if (!rest.starts_with(resource)) continue;
    const std::size_t digits = at + resource.size();
    const std::size_t end = RunOf(text, digits, IsHexDigit);
    if (end - digits >= kFewestDigits && (end == text.size() || !IsAlphanumeric(text[end])))
      return end;
  }
  return SignedTokenAt(text, at);
}

std::size_t RandomTextAt(std::string_view text, std::size_t at) {
  constexpr std::size_t kShortest = 16;
  if (!IsAlphanumeric(text[at]) || (at > 0 && IsKeyByte(text[at - 1]))) return at;
  const std::size_t end = RunOf(text, at, IsKeyByte);
  std::array<std::size_t, 3> counts{};  // Capitals, small letters, digits.
  std::size_t changes = 0, pieces = 1, last = counts.size();
  for (const char c : text.substr(at, end - at)) {
    if (!IsAlphanumeric(c)) {
      ++pieces;
      continue;
    }
    const std::size_t kind = IsUpper(c) ? 0 : IsLower(c) ? 1 : 2;
    changes += last != counts.size() && kind != last ? 1 : 0;
    last = kind;
    ++counts[kind];
  }
  const auto [capitals, small, digits] = counts;
  const std::size_t size = capitals + small + digits;
  // Base64 for URLs has "_" and "-" twice in 64 letters; names have them behind each word.
  if (size < kShortest || size < 8 * (pieces - 1) || capitals == 0 || digits == 0) return at;
  // At random 0.62; of words in capitals, "MaxPool2DWithIndicesBackward0", 0.4.
  const bool is_mixed = small > 0 && changes * 100 >= size * 48;
  return is_mixed || (small == 0 && pieces == 1) ? end : at;
}

std::size_t SecretValueAt(std::string_view text, std::size_t at) {
  constexpr std::string_view kBlank = " \t", kEnds = " \t\r\n,;\"'&)]}<>";
  constexpr std::string_view kWords[] = {"password", "passwd",     "pwd",         "passphrase",
                                         "secret",   "apikey",     "api_key",     "api-key",
                                         "token",    "access_key", "private_key", "credential",
                                         "bearer",   "secret_key", "auth"};
  // "token::embedding" is a name of C++.
  if (at == 0 || text[at] == ':' || text[at] == '=' || kEnds.find(text[at]) != text.npos) return at;
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  std::string_view before = text.substr(0, at);
  // "password='x y'", "{"token": "x"}"
  const char quote = is_quote(before.back()) ? before.back() : '\0';
  if (quote != '\0') before.remove_suffix(1);
  const auto without_blanks = [&] {
    const std::size_t last = before.find_last_not_of(kBlank);
    before = before.substr(0, last == std::string_view::npos ? 0 : last + 1);
  };
  const bool behind_blank = !before.empty() && kBlank.find(before.back()) != std::string_view::npos;
  without_blanks();
  const bool behind_sign = before.ends_with(':') || before.ends_with('=');
  if (behind_sign) {
    before.remove_suffix(1);
    without_blanks();
    if (!before.empty() && is_quote(before.back())) before.remove_suffix(1);
  }
  if (before.empty() || (!behind_sign && !behind_blank)) return at;
  constexpr std::size_t kLongestWord = 16;
  const std::string tail =
      LowerCase(before.substr(before.size() - std::min(before.size(), kLongestWord)));
  const auto is_word = [&](std::string_view word) {
    const std::size_t begin = before.size() - std::min(before.size(), word.size());
    return tail.ends_with(word) &&
           (begin == 0 || !IsLetter(before[begin - 1]) || IsUpper(before[begin]));
  };
  const bool is_secret =
      behind_sign ? std::any_of(std::begin(kWords), std::end(kWords), is_word) : is_word("bearer");
  if (!is_secret) return at;
  const std::size_t close = quote == '\0' ? std::string_view::npos : text.find(quote, at);
  const std::size_t end = close != std::string_view::npos
                              ? close
                              : std::min(text.find_first_of(kEnds, at), text.size());
  // "token: 17" counts.
  return is_word("token") && IsCount(text.substr(at, end - at)) ? at : end;
}

}  // namespace headroom
