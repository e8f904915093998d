#include "ingest/input/json_members.h"

#include <cstddef>

#include "base/ascii.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// Reads elements one after another. Each function returns false, at an unspecified position, if
/// the next element is of another type.
class Grammar {
 public:
  explicit Grammar(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }

  void Space() {
    while (!AtEnd() && (Here() == ' ' || Here() == '\t' || Here() == '\n' || Here() == '\r')) ++at_;
  }
  bool Take(char c) {
    if (AtEnd() || Here() != c) return false;
    ++at_;
    return true;
  }
  bool Member() {
    Space();
    if (!String()) return false;
    Space();
    if (!Take(':')) return false;
    Space();
    return Value();
  }

  bool Value() {
    if (AtEnd()) return false;
    switch (Here()) {
      case '"':
        return String();
      case '[':
        return Items(']', &Grammar::Value);
      case '{':
        return Items('}', &Grammar::Member);
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

 private:
  char Here() const { return text_[at_]; }

  bool Word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool Digits() {
    const std::size_t begin = at_;
    while (!AtEnd() && IsDigit(Here())) ++at_;
    return at_ > begin;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      return Digits();
    }
    return true;
  }

  bool String() {
    if (!Take('"')) return false;
    while (!AtEnd()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !Escape()) return false;
    }
    return false;
  }

  bool Escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    if (AtEnd()) return false;
    const char c = text_[at_++];
    if (c != 'u') return kShort.find(c) != std::string_view::npos;
    constexpr std::size_t kDigits = 4;
    for (std::size_t i = 0; i < kDigits; ++i, ++at_) {
      if (AtEnd() || !IsHexDigit(Here())) return false;
    }
    return true;
  }

  bool Items(char close, bool (Grammar::*item)()) {
    if (depth_ == kMaxDepth) return false;
    ++depth_;
    ++at_;
    Space();
    if (!Take(close)) {
      do {
        Space();
        if (!(this->*item)()) return false;
        Space();
      } while (Take(','));
      if (!Take(close)) return false;
    }
    --depth_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

/// Returns the end of the member at `at`: the next comma outside quotes and brackets, where readers
/// split members.
std::size_t EndOfMember(std::string_view members, std::size_t at) {
  std::size_t depth = 0;
  for (; at < members.size(); ++at) {
    const char c = members[at];
    if (c == '"') {
      for (++at; at < members.size() && members[at] != '"'; ++at) {
        if (members[at] == '\\') ++at;
      }
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return members.size();
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the member with null in place of a number that JSON does not allow, such as NaN. Returns
/// an empty string for other members.
std::string WithNull(std::string_view member) {
  for (const std::string_view word : {"NaN", "-NaN", "nan", "-nan", "Infinity", "-Infinity"}) {
    if (!member.ends_with(word)) continue;
    std::string with_null(member.substr(0, member.size() - word.size()));
    with_null += "null";
    Grammar grammar(with_null);
    if (grammar.Member() && grammar.AtEnd()) return with_null;
  }
  return {};
}

}  // namespace

bool AreJsonMembers(std::string_view members) {
  Grammar grammar(members);
  do {
    if (!grammar.Member()) return false;
    grammar.Space();
  } while (grammar.Take(','));
  return grammar.AtEnd();
}

std::string SoundMembers(std::string_view members) {
  std::string sound;
  for (std::size_t at = 0; at < members.size();) {
    const std::size_t end = EndOfMember(members, at);
    const std::string_view member = Trimmed(members.substr(at, end - at));
    at = end + 1;
    const std::string kept = AreJsonMembers(member) ? std::string(member) : WithNull(member);
    if (kept.empty()) continue;
    if (!sound.empty()) sound += ", ";
    sound += kept;
  }
  return sound;
}

}  // namespace headroom
