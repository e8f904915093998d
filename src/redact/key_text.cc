#include "redact/key_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/run_of.h"
#include "redact/value_text.h"

namespace headroom {
namespace {

/// Of base64 for URLs, in which keys are written.
bool IsKeyByte(char c) { return IsLetterOrDigit(c) || c == '_' || c == '-'; }

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
constexpr std::size_t kMinDigits = 8;

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

/// Takes a bracket that opens a value behind a sign ("password=<x>"): it closes as a value in none
/// does. Typographic quotes, of three bytes each, are taken, too, and close with `closing`.
void TakeBracket(std::string_view& before, std::string_view& closing) {
  constexpr std::string_view kBrackets = "[{<(";
  constexpr std::pair<std::string_view, std::string_view> kTypographic[] = {
      {"\u201c", "\u201d"}, {"\u2018", "\u2019"}, {"\u00ab", "\u00bb"}};
  std::string_view name = before;
  for (const auto& [opens, closes] : kTypographic) {
    if (!before.ends_with(opens)) continue;
    before.remove_suffix(opens.size());
    closing = closes;
    return;
  }
  if (name.empty() || kBrackets.find(name.back()) == std::string_view::npos) return;
  name.remove_suffix(1);
  if (name.ends_with('=') || name.ends_with(':') || name.ends_with(' ')) before = name;
}

/// Where a value that begins at `at` ends, which opened with quotes, behind backslashes where the
/// whole is in a quoted text itself: at the same quotes, where they are not part of it (behind a
/// backslash more, or twice), or else with the text.
std::size_t EndOfQuoted(std::string_view text, std::size_t at, std::string_view opening) {
  const std::size_t slashes = std::min(opening.find_first_not_of('\\'), opening.size());
  const std::string_view quotes = opening.substr(slashes);
  for (std::size_t end = text.find(quotes, at); end != std::string_view::npos;
       end = text.find(quotes, end)) {
    std::size_t begin = end;
    while (begin > at && text[begin - 1] == '\\') --begin;
    const std::size_t next = end + quotes.size();
    // What is quoted n times has 2^n - 1 of them; pairs of the value's own may stand in front.
    if ((end - begin) % (2 * (slashes + 1)) != slashes) {
      end = next;
    } else if (opening.size() == 1 && text.substr(next).starts_with(quotes)) {
      end = next + 1;
    } else {
      return end - slashes;
    }
  }
  return text.size();
}

/// Whether a text ends with a flag: "--hf-token", "-token"; no "next-token".
bool EndsWithFlag(std::string_view before) {
  constexpr std::string_view kFront = " \t\r\n\"'`,([=";
  std::size_t begin = before.size();
  while (begin > 0 && IsKeyByte(before[begin - 1])) --begin;
  const bool begins = begin == 0 || kFront.find(before[begin - 1]) != std::string_view::npos;
  return begins && before.substr(begin).starts_with('-');
}

/// Whether the last `size` bytes are a whole name of several ("user=x,pass=y"), or a flag.
bool EndsWithName(std::string_view before, std::size_t size) {
  constexpr std::string_view kFront = ",(&?;";
  before.remove_suffix(size);
  return before.empty() || before.ends_with("--") ||
         kFront.find(before.back()) != std::string_view::npos;
}

/// Schemes of HTTP's authorization, which stay; what follows them is secret.
constexpr std::string_view kSchemes[] = {"basic",  "bearer",    "token", "digest",
                                         "apikey", "negotiate", "ntlm",  "key"};

/// The scheme of HTTP's authorization that a text ends with, in small letters; else empty.
std::string_view SchemeAtEnd(std::string_view tail) {
  for (const std::string_view scheme : kSchemes) {
    if (!tail.ends_with(scheme)) continue;
    const std::size_t begin = tail.size() - scheme.size();
    if (begin == 0 || !IsLetterOrDigit(tail[begin - 1])) return scheme;
  }
  return {};
}

/// Whether a text that ends with a scheme of so many bytes is the begin of a header of HTTP.
bool IsBehindAuthorization(std::string_view before, std::size_t scheme) {
  constexpr std::string_view kHeader = "authorization";
  before.remove_suffix(scheme);
  TakeBlanks(before);
  TakeOpening(before);
  TakeBlanks(before);
  if (TakeSign(before, /*is_quoted=*/true).empty()) return false;
  const std::size_t begin = before.size() - std::min(before.size(), kHeader.size());
  return LowerCase(before.substr(begin)) == kHeader;
}

}  // namespace

std::size_t IssuedKeyAt(std::string_view text, std::size_t at) {
  if (at > 0 && IsLetterOrDigit(text[at - 1])) return at;
  const std::string_view rest = text.substr(at);
  for (const Issuer& issuer : kIssuers) {
    if (!rest.starts_with(issuer.prefix)) continue;
    // "hf_transformers_attention" is a name; of capitals none begins so. Of "hf_hf_hf_" each would
    // be looked at to the end.
    constexpr std::size_t kMaxLooked = 256;
    const std::size_t begin = at + issuer.prefix.size();
    const std::string_view head = text.substr(0, std::min(text.size(), begin + kMaxLooked));
    const std::size_t looked = RunOf(head, begin, IsKeyByte);
    const bool is_name =
        IsLower(issuer.prefix[0]) && !LooksDrawn(text.substr(begin, looked - begin));
    if (looked >= begin + issuer.least && !is_name) return RunOf(text, looked, IsKeyByte);
  }
  for (const std::string_view resource : kResources) {
    if (!rest.starts_with(resource)) continue;
    const std::size_t digits = at + resource.size();
    const std::size_t end = RunOf(text, digits, IsHexDigit);
    if (end - digits >= kMinDigits && (end == text.size() || !IsLetterOrDigit(text[end])))
      return end;
  }
  return SignedTokenAt(text, at);
}

std::size_t RandomTextAt(std::string_view text, std::size_t at) {
  constexpr std::size_t kShortest = 16;
  if (!IsLetterOrDigit(text[at]) || (at > 0 && IsKeyByte(text[at - 1]))) return at;
  const std::size_t end = RunOf(text, at, IsKeyByte);
  std::array<std::size_t, 3> counts{};  // Capitals, small letters, digits.
  std::size_t changes = 0, pieces = 1, last = counts.size();
  for (const char c : text.substr(at, end - at)) {
    if (!IsLetterOrDigit(c)) {
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
  constexpr std::string_view kEnds = " \t\r\n,;\"'`&)]}<>";
  constexpr std::string_view kWords[] = {
      "password", "passwd", "pwd", "passphrase", "secret", "apikey", "api_key", "api-key", "token",
      "access_key", "private_key", "credential", "bearer", "secret_key", "auth", "passwords",
      "secrets", "credentials", "passcode", "authorization", "access_token", "pass_word",
      "pass-phrase",
      // The same words in other languages.
      "passwort", "kennwort", "wachtwoord", "motdepasse", "mot_de_passe", "mot de passe", "mdp",
      "contrasena", "contraseña", "contraseÑa", "clave", "senha", "parola", "haslo", "hasło",
      "heslo", "losenord", "lösenord", "salasana", "sifre", "şifre", "jelszo", "jelszó", "пароль",
      "Пароль", "ПАРОЛЬ", "密码", "密碼", "口令", "パスワード", "비밀번호"};
  // Short or ambiguous words count only as a whole name, or after "_" in a variable's name.
  constexpr std::string_view kShortWords[] = {"pass", "pin", "pwd"};
  // "token::embedding" is a name of C++.
  if (at == 0 || text[at] == ':' || text[at] == '=' || kEnds.find(text[at]) != text.npos) return at;
  std::string_view before = text.substr(0, at);
  const std::string_view opening = TakeOpening(before);
  // What it begins is found behind its quotes.
  if (opening.empty() && (text[at] == '\\' || IsPrefixOfQuoted(text.substr(at, 3)))) return at;
  std::string_view closing;  // Of typographic quotes.
  if (opening.empty()) TakeBracket(before, closing);
  const std::size_t with_blanks = before.size();
  TakeBlanks(before);
  const bool behind_blank = before.size() < with_blanks;
  const std::string_view sign = TakeSign(before, !opening.empty());
  const bool behind_sign = !sign.empty();
  if (before.empty() || (!behind_sign && !behind_blank)) return at;
  constexpr std::size_t kLongestWord = 16;
  const std::string tail =
      LowerCase(before.substr(before.size() - std::min(before.size(), kLongestWord)));
  const auto is_word = [&](std::string_view word) {
    const std::size_t begin = before.size() - std::min(before.size(), word.size());
    return tail.ends_with(word) &&
           (begin == 0 || !IsLetter(before[begin - 1]) || IsUpper(before[begin]));
  };
  // "pass: forward" is of a network, and "basic" of everything: "Authorization: Basic x".
  const auto is_short = [&](std::string_view word) {
    if (!is_word(word)) return false;
    // "num_pass=2" counts passes; "DB_PASS=2" is a setting of the environment.
    const std::string_view written = before.substr(before.size() - word.size());
    const bool is_variable = before.size() > word.size() && IsUpper(written[0]) &&
                             before[before.size() - word.size() - 1] == '_';
    return (sign == "=" && (EndsWithName(before, word.size()) || is_variable)) ||
           (!behind_sign && EndsWithFlag(before));
  };
  const bool is_pass = std::any_of(std::begin(kShortWords), std::end(kShortWords), is_short);
  const std::string_view scheme = SchemeAtEnd(tail);
  const bool is_basic = !scheme.empty() && IsBehindAuthorization(before, scheme.size());
  if (is_word("authorization") && behind_sign) {
    // The scheme is no secret, if anything follows it.
    const std::size_t end = RunOf(text, at, IsLetterOrDigit);
    const bool goes_on =
        end + 1 < text.size() && text[end] == ' ' && kEnds.find(text[end + 1]) == text.npos;
    if (goes_on && SchemeAtEnd(LowerCase(text.substr(at, end - at))).size() == end - at) return at;
  }
  const auto is_secret = [&](std::string_view word) {
    // "--password x" needs no sign.
    return is_word(word) && (behind_sign || word == "bearer" || EndsWithFlag(before));
  };
  if (!is_pass && !is_basic && std::none_of(std::begin(kWords), std::end(kWords), is_secret))
    return at;
  const std::size_t end =
      !opening.empty()
          ? EndOfQuoted(text, at, opening)
          : std::min(closing.empty() ? text.find_first_of(kEnds, at) : text.find(closing, at),
                     text.size());
  // "token: 17" and "pass=1" count. Where nothing but a secret can stand, its digits are one.
  const bool may_count =
      is_word("token") || (is_word("pass") && EndsWithName(before, 4) && !EndsWithFlag(before));
  return may_count && !is_basic && IsCount(text.substr(at, end - at)) ? at : end;
}

}  // namespace headroom
