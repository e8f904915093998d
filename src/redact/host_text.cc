#include "redact/host_text.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/public_names.h"

namespace headroom {
namespace {

bool IsHexColon(char c) { return IsHexDigit(c) || c == ':'; }
bool IsUrlByte(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != '<' && c != '>';
}
bool IsSchemeByte(char c) { return IsLetter(c) || IsDigit(c) || c == '+' || c == '-' || c == '.'; }
bool IsMailByte(char c) { return IsHostByte(c) || c == '+' || c == '%'; }

using Match = bool (*)(char);
std::size_t RunOf(std::string_view text, std::size_t at, Match is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}
bool AllAre(std::string_view text, Match is) { return RunOf(text, 0, is) == text.size(); }

/// "10.0.0.1", and "10-0-0-1" as clouds name machines.
bool IsIpv4(std::string_view run, char separator) {
  const std::vector<std::string_view> groups = Split(run, separator);
  return groups.size() == 4 &&
         std::all_of(groups.begin(), groups.end(), [](std::string_view group) {
           return !group.empty() && group.size() <= 3 && AllAre(group, IsDigit) &&
                  (group.size() < 3 || group <= "255");
         });
}

/// "3f2504e0-4f89-11d3-9a0c-0305e82c3301", and "00-1a-2b-3c-4d-5e".
bool IsDashedId(std::string_view run) {
  const std::vector<std::string_view> groups = Split(run, '-');
  const auto are = [&](const std::vector<std::size_t>& sizes) {
    if (groups.size() != sizes.size()) return false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (groups[i].size() != sizes[i] || !AllAre(groups[i], IsHexDigit)) return false;
    }
    return true;
  };
  return are({8, 4, 4, 4, 12}) || are({2, 2, 2, 2, 2, 2});
}

/// "node7.cluster.internal"; no attribute such as "encoder.net", no file such as "model.py".
bool IsDomain(std::string_view run) {
  constexpr std::string_view kEnds[] = {
      "com", "org",      "edu",       "gov",  "mil", "local", "internal", "localdomain", "corp",
      "lan", "intranet", "localhost", "arpa", "biz", "cloud", "ai",       "de",          "uk",
      "fr",  "ch",       "nl",        "eu",   "cn",  "jp",    "kr"};
  constexpr std::string_view kLongEnds[] = {"net", "io", "it", "es",  "in",   "us",  "ca",
                                            "se",  "au", "at", "dev", "info", "app", "tech"};
  const std::vector<std::string_view> labels = Split(run, '.');
  if (labels.size() < 2 || labels.front().empty()) return false;
  const std::string end = LowerCase(labels.back());
  if (std::find(std::begin(kEnds), std::end(kEnds), end) != std::end(kEnds)) return true;
  // These are names of attributes, too: only of what begins as a machine does.
  const bool numbered = std::any_of(labels.front().begin(), labels.front().end(), IsDigit);
  return labels.size() > 2 && numbered &&
         std::find(std::begin(kLongEnds), std::end(kLongEnds), end) != std::end(kLongEnds);
}

/// "2001:db8::1", "fe80:0:0:1:2:3:4:5", "00:1a:2b:3c:4d:5e"; not "12:30:45", nor the "::" of C++.
bool IsColonAddress(std::string_view run) {
  const std::vector<std::string_view> groups = Split(run, ':');
  if (groups.size() < 3 || groups.front().empty() || groups.size() > 8) return false;
  std::size_t empty = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() > 4) return false;
    empty += groups[i].empty() && i + 1 < groups.size() ? 1 : 0;
  }
  if (empty > 1) return false;
  if (empty == 0) return groups.size() >= 5 && !groups.back().empty();
  // "add::dead" is a name of C++: the first group of an address has four digits, or is local.
  const std::string first = LowerCase(groups.front());
  const bool is_local =
      first.starts_with("fe80") || first.starts_with("fd") || first.starts_with("fc");
  return first.size() >= 3 && (is_local || std::any_of(first.begin(), first.end(), IsDigit)) &&
         first != "c10d";
}

/// The end of `count` groups of digits, each of `least` to `most`, with `separator` between them;
/// `at` where they are fewer or more.
std::size_t GroupsAt(std::string_view text, std::size_t at, std::size_t count, char separator,
                     std::size_t least, std::size_t most, Match is_digit) {
  std::size_t end = at;
  for (std::size_t group = 0; group < count; ++group) {
    const std::size_t begin = end;
    end = RunOf(text, begin, is_digit);
    if (end - begin < least || end - begin > most) return at;
    if (group + 1 == count) break;
    if (end == text.size() || text[end] != separator) return at;
    ++end;
  }
  const bool goes_on = end + 1 < text.size() && text[end] == separator && is_digit(text[end + 1]);
  return goes_on ? at : end;
}

std::size_t Ipv4At(std::string_view text, std::size_t at, char separator) {
  const std::size_t end = GroupsAt(text, at, 4, separator, 1, 3, IsDigit);
  return end > at && IsIpv4(text.substr(at, end - at), separator) ? end : at;
}

}  // namespace

bool IsHostByte(char c) { return IsWordByte(c) || c == '-' || c == '.'; }

bool BeginsAt(std::string_view text, std::size_t at) {
  return at == 0 || !(IsHostByte(text[at - 1]) || text[at - 1] == '/' || text[at - 1] == '\\');
}

std::size_t AddressAt(std::string_view text, std::size_t at) {
  constexpr std::string_view kOfCloud = "ip-";
  const char before = at == 0 ? ' ' : text[at - 1];
  const bool in_word = IsLetter(before) || IsDigit(before);
  const auto is_longer = [&](char separator) {
    return before == separator && at >= 2 && IsHexDigit(text[at - 2]);
  };
  if (IsDigit(text[at]) && !IsDigit(before) &&
      !(before == '.' && at >= 2 && IsDigit(text[at - 2]))) {
    if (const std::size_t end = Ipv4At(text, at, '.'); end > at) return end;
  }
  if (!in_word && text.substr(at).starts_with(kOfCloud)) {
    const std::size_t digits = at + kOfCloud.size();
    if (const std::size_t end = Ipv4At(text, digits, '-'); end > digits) return end;
  }
  if (!in_word && IsHexDigit(text[at])) {
    for (const char separator : {':', '-'}) {
      if (is_longer(separator)) continue;
      const std::size_t end = GroupsAt(text, at, 6, separator, 2, 2, IsHexDigit);
      if (end > at && (end == text.size() || !(IsLetter(text[end]) || IsDigit(text[end]))))
        return end;
    }
  }
  return at;
}

std::string_view AddressIn(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const std::size_t end = AddressAt(text, at); end > at) return text.substr(at, end - at);
  }
  return {};
}

std::size_t UrlAt(std::string_view text, std::size_t at) {
  if (!BeginsAt(text, at)) return at;
  const std::size_t scheme = RunOf(text, at, IsSchemeByte);
  const bool is_url =
      scheme > at + 1 && IsLetter(text[at]) && text.substr(scheme).starts_with("://");
  return is_url ? RunOf(text, scheme, IsUrlByte) : at;
}

std::size_t MailAt(std::string_view text, std::size_t at) {
  if (at > 0 && IsMailByte(text[at - 1])) return at;
  const std::size_t name = RunOf(text, at, IsMailByte);
  if (name == at || name == text.size() || text[name] != '@') return at;
  const std::size_t end = RunOf(text, name + 1, IsHostByte);
  return end > name + 1 ? end : at;
}

std::size_t HostAt(std::string_view text, std::size_t at) {
  if (!IsHostByte(text[at]) || (at > 0 && IsHostByte(text[at - 1]))) return at;
  const std::size_t end = RunOf(text, at, IsHostByte);
  std::string_view run = text.substr(at, end - at);
  while (run.ends_with('.') || run.ends_with('-')) run.remove_suffix(1);  // Of a sentence.
  const std::string_view dashed = run.substr(0, run.find('.'));
  const std::size_t dash = std::min(dashed.find('-'), dashed.size());
  const bool of_cloud = dash < dashed.size() && IsIpv4(dashed.substr(dash + 1), '-');
  const std::string_view id =
      run.starts_with("GPU-") || run.starts_with("MIG-") ? run.substr(4) : run;
  if (IsIpv4(run, '.') || IsIpv4(run, '-') || of_cloud || IsDashedId(id) || IsDomain(run))
    return at + run.size();
  const std::size_t hex_end = RunOf(text, at, IsHexColon);
  std::size_t address = hex_end;
  // "2001:db8::1: refused"
  if (address < text.size() && address > at && text[address - 1] == ':' && text[address] == ' ')
    --address;
  if (IsColonAddress(text.substr(at, address - at)) &&
      (address == text.size() || !IsWordByte(text[address])))
    return address;
  return at;
}

}  // namespace headroom
