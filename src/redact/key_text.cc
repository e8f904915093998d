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

/// Returns true if a byte is in base64 for URLs, the alphabet of keys.
bool IsKeyByte(char c) { return IsLetterOrDigit(c) || c == '_' || c == '-'; }

struct Issuer {
  std::string_view prefix;
  std::size_t least;  ///< Minimum number of bytes after the prefix.
};

/// Prefixes as published. Real keys are much longer than the minimum.
constexpr Issuer kIssuers[] = {
    {"AKIA", 12},    {"ASIA", 12},  {"AROA", 12},    {"AIDA", 12},       {"AIza", 20},
    {"ghp_", 8},     {"gho_", 8},   {"ghu_", 8},     {"ghs_", 8},        {"ghr_", 8},
    {"hf_", 20},     {"glpat-", 8}, {"npm_", 20},    {"github_pat_", 8}, {"pypi-", 16},
    {"xoxb-", 6},    {"xoxp-", 6},  {"xoxa-", 6},    {"xoxr-", 6},       {"xoxs-", 6},
    {"xapp-", 6},    {"sk-", 16},   {"sk_live_", 8}, {"sk_test_", 8},    {"pk_live_", 8},
    {"rk_live_", 8}, {"ya29.", 8},  {"dop_v1_", 8},  {"SG.", 16},        {"nvapi-", 8},
};

/// Prefixes of cloud resources, followed by 8 or 17 hexadecimal digits.
constexpr std::string_view kResources[] = {"i-",   "vol-", "vpc-",  "subnet-", "sg-",
                                           "ami-", "eni-", "snap-", "rtb-",    "igw-",
                                           "lt-",  "fs-",  "vpce-"};
constexpr std::size_t kMinDigits = 8;

/// Returns true if a string is a count or measurement: "17", "1010.25", "17/128", "3.5ms".
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

/// Returns true if the text after a prefix is random rather than a name: it has two digits, or
/// letters in both cases.
bool LooksDrawn(std::string_view text) {
  const auto digits = std::count_if(text.begin(), text.end(), IsDigit);
  return digits > 1 || (std::any_of(text.begin(), text.end(), IsUpper) &&
                        std::any_of(text.begin(), text.end(), IsLower));
}

/// Returns the end of a signed token, such as "eyJhbGciOi.eyJzdWIiOi.SflKxwRJ". It begins with the
/// base64 of a JSON object, and dots separate its parts.
std::size_t SignedTokenAt(std::string_view text, std::size_t at) {
  constexpr std::size_t kShortest = 12;
  if (!text.substr(at).starts_with("eyJ")) return at;
  std::size_t end = RunOf(text, at, IsKeyByte);
  if (end - at < kShortest) return at;
  while (end + 1 < text.size() && text[end] == '.' && IsKeyByte(text[end + 1]))
    end = RunOf(text, end + 1, IsKeyByte);
  return end;
}

/// Removes a bracket that opens a value after a sign ("password=<x>"). The bracket does not change
/// where the value ends. Also removes an opening typographic quote, and sets `closing` to the quote
/// that ends the value.
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

/// Returns the end of a value that begins at `at`, after the quotes `opening`. Backslashes precede
/// the quotes if the value is within a quoted string. The value ends at the same quotes, or at the
/// end of the text. Quotes with one more backslash, or doubled quotes, are part of the value.
std::size_t EndOfQuoted(std::string_view text, std::size_t at, std::string_view opening) {
  const std::size_t slashes = std::min(opening.find_first_not_of('\\'), opening.size());
  const std::string_view quotes = opening.substr(slashes);
  for (std::size_t end = text.find(quotes, at); end != std::string_view::npos;
       end = text.find(quotes, end)) {
    std::size_t begin = end;
    while (begin > at && text[begin - 1] == '\\') --begin;
    const std::size_t next = end + quotes.size();
    // Text quoted n times has 2^n - 1 backslashes before a quote. The value's own escaped
    // backslashes can precede these.
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

/// Returns true if a string ends with a flag, such as "--hf-token" or "-token", but not
/// "next-token".
bool EndsWithFlag(std::string_view before) {
  constexpr std::string_view kFront = " \t\r\n\"'`,([=";
  std::size_t begin = before.size();
  while (begin > 0 && IsKeyByte(before[begin - 1])) --begin;
  const bool begins = begin == 0 || kFront.find(before[begin - 1]) != std::string_view::npos;
  return begins && before.substr(begin).starts_with('-');
}

/// Returns true if the last `size` bytes are a whole name, as in "user=x,pass=y", or a flag.
bool EndsWithName(std::string_view before, std::size_t size) {
  constexpr std::string_view kFront = ",(&?;";
  before.remove_suffix(size);
  return before.empty() || before.ends_with("--") ||
         kFront.find(before.back()) != std::string_view::npos;
}

/// HTTP authorization schemes, which are kept. The text after a scheme is secret.
constexpr std::string_view kSchemes[] = {"basic",  "bearer",    "token", "digest",
                                         "apikey", "negotiate", "ntlm",  "key"};

/// Returns the HTTP authorization scheme at the end of a lower-case string; otherwise "".
std::string_view SchemeAtEnd(std::string_view tail) {
  for (const std::string_view scheme : kSchemes) {
    if (!tail.ends_with(scheme)) continue;
    const std::size_t begin = tail.size() - scheme.size();
    if (begin == 0 || !IsLetterOrDigit(tail[begin - 1])) return scheme;
  }
  return {};
}

/// Returns true if a string that ends with a scheme of `scheme` bytes is the start of an HTTP
/// Authorization header.
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
    // A lower-case prefix can begin a name, such as "hf_transformers_attention"; no name begins
    // with a prefix in capitals. The limit bounds the time for strings such as "hf_hf_hf_".
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
  std::array<std::size_t, 3> counts{};  // Upper-case letters, lower-case letters, digits.
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
  // In base64 for URLs, 2 of 64 characters are "_" or "-". Names have one after each word.
  if (size < kShortest || size < 8 * (pieces - 1) || capitals == 0 || digits == 0) return at;
  // Changes of kind per character: 0.62 in random text, 0.4 in words with capitals such as
  // "MaxPool2DWithIndicesBackward0".
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
  // "token::embedding" is a C++ name.
  if (at == 0 || text[at] == ':' || text[at] == '=' || kEnds.find(text[at]) != text.npos) return at;
  std::string_view before = text.substr(0, at);
  const std::string_view opening = TakeOpening(before);
  // A prefix or backslash belongs to the quotes, and the value begins after them.
  if (opening.empty() && (text[at] == '\\' || IsPrefixOfQuoted(text.substr(at, 3)))) return at;
  std::string_view closing;  // Closes typographic quotes.
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
  // "pass: forward" is a pass of a network. "basic" is a scheme only in "Authorization: Basic x".
  const auto is_short = [&](std::string_view word) {
    if (!is_word(word)) return false;
    // "num_pass=2" counts passes; "DB_PASS=2" is an environment variable.
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
    // The scheme is not secret if a value follows it.
    const std::size_t end = RunOf(text, at, IsLetterOrDigit);
    const bool goes_on =
        end + 1 < text.size() && text[end] == ' ' && kEnds.find(text[end + 1]) == text.npos;
    if (goes_on && SchemeAtEnd(LowerCase(text.substr(at, end - at))).size() == end - at) return at;
  }
  const auto is_secret = [&](std::string_view word) {
    // "--password x" requires no sign.
    return is_word(word) && (behind_sign || word == "bearer" || EndsWithFlag(before));
  };
  if (!is_pass && !is_basic && std::none_of(std::begin(kWords), std::end(kWords), is_secret))
    return at;
  const std::size_t end =
      !opening.empty()
          ? EndOfQuoted(text, at, opening)
          : std::min(closing.empty() ? text.find_first_of(kEnds, at) : text.find(closing, at),
                     text.size());
  // "token: 17" and "pass=1" are counts. In places that only hold secrets, digits are a secret too.
  const bool may_count =
      is_word("token") || (is_word("pass") && EndsWithName(before, 4) && !EndsWithFlag(before));
  return may_count && !is_basic && IsCount(text.substr(at, end - at)) ? at : end;
}

}  // namespace headroom
