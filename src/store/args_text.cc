#include "store/args_text.h"

#include "base/ascii.h"

namespace headroom {
namespace {

std::size_t SkipSpaceAndCommas(std::string_view text, std::size_t at) {
  while (at < text.size() && (IsSpace(text[at]) || text[at] == ',')) ++at;
  return at;
}

/// Returns the position after the closing quote. REQUIRES: text[at] == '"'.
std::size_t SkipString(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::size_t SkipValue(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = SkipString(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') {
      if (depth <= 1) return depth == 1 ? at + 1 : at;
      --depth;
    }
    if (c == ',' && depth == 0) return at;
    ++at;
  }
  return text.size();
}

std::string_view FindMember(std::string_view members, std::string_view key) {
  std::size_t at = 0;
  while ((at = SkipSpaceAndCommas(members, at)) < members.size()) {
    if (members[at] != '"') return {};
    const std::size_t key_end = SkipString(members, at);
    const bool match = key_end - at == key.size() + 2 && members.substr(at + 1, key.size()) == key;
    std::size_t value = key_end;
    while (value < members.size() && (IsSpace(members[value]) || members[value] == ':')) ++value;
    at = SkipValue(members, value);
    if (match) {
      std::string_view found = members.substr(value, at - value);
      while (!found.empty() && IsSpace(found.back())) found.remove_suffix(1);
      return found;
    }
    if (at == value) return {};  // Damaged text: no progress is possible.
  }
  return {};
}

}  // namespace headroom
