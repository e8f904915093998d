#include "redact/host_text.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/public_names.h"
#include "redact/run_of.h"
#include "redact/value_text.h"

namespace headroom {
namespace {

bool IsHexColon(char c) { return IsHexDigit(c) || c == ':'; }
bool IsUrlByte(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != '<' && c != '>';
}
bool IsSchemeByte(char c) { return IsLetter(c) || IsDigit(c) || c == '+' || c == '-' || c == '.'; }
bool IsDomainEnd(char c) { return IsLetter(c) || c == '.'; }
bool IsMailByte(char c) { return IsHostByte(c) || c == '+' || c == '%'; }

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}
bool AllAre(std::string_view text, ByteKind is) { return RunOf(text, 0, is) == text.size(); }

/// Returns true if digits are a number that fits into a byte.
bool IsByte(std::string_view digits) {
  return !digits.empty() && digits.size() <= 3 && AllAre(digits, IsDigit) &&
         (digits.size() < 3 || digits <= "255");
}

/// Returns true if a run is "10.0.0.1", or "10-0-0-1" as in cloud machine names.
bool IsIpv4(std::string_view run, char separator) {
  const std::vector<std::string_view> groups = Split(run, separator);
  return groups.size() == 4 && std::all_of(groups.begin(), groups.end(), IsByte);
}

/// Returns true if a run is a UUID, "3f2504e0-4f89-11d3-9a0c-0305e82c3301", or "00-1a-2b-3c-4d-5e".
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

/// Returns true if a run is a hardware address as switches write it, "001a.2b3c.4d5e". Requires a
/// letter, because numbers can also contain dots.
bool IsDottedId(std::string_view run) {
  constexpr std::size_t kGroups = 3, kDigits = 4;
  const std::vector<std::string_view> groups = Split(run, '.');
  return groups.size() == kGroups && std::any_of(run.begin(), run.end(), IsLetter) &&
         std::any_of(run.begin(), run.end(), IsDigit) &&
         std::all_of(groups.begin(), groups.end(), [](std::string_view group) {
           return group.size() == kDigits && AllAre(group, IsHexDigit);
         });
}

/// Returns true if a run is a domain, such as "node7.cluster.internal". Excludes attributes such as
/// "encoder.net" and files such as "model.py".
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
  // Attributes can have these endings too, so the first label must contain a digit, as machine
  // names do.
  const bool numbered = std::any_of(labels.front().begin(), labels.front().end(), IsDigit);
  return labels.size() > 2 && numbered &&
         std::find(std::begin(kLongEnds), std::end(kLongEnds), end) != std::end(kLongEnds);
}

/// Returns true if a run is an address, such as "2001:db8::1", "fe80:0:0:1:2:3:4:5" or
/// "00:1a:2b:3c:4d:5e". Excludes "12:30:45" and the "::" of C++.
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
  // "add::dead" is a C++ name. The first group of an address contains a digit, or marks a local
  // address.
  const std::string first = LowerCase(groups.front());
  const bool is_local =
      first.starts_with("fe80") || first.starts_with("fd") || first.starts_with("fc");
  return first.size() >= 3 && (is_local || std::any_of(first.begin(), first.end(), IsDigit)) &&
         first != "c10d";
}

/// Returns the end of at least four byte-sized numbers with `separator` between them; `at` if there
/// are fewer. With more than four, it is unknown which four are the address.
std::size_t Ipv4At(std::string_view text, std::size_t at, char separator) {
  std::size_t end = at, groups = 0;
  for (std::size_t begin = at; begin < text.size(); begin = end + 1) {
    const std::size_t stop = RunOf(text, begin, IsDigit);
    if (!IsByte(text.substr(begin, stop - begin))) break;
    end = stop;
    ++groups;
    if (end == text.size() || text[end] != separator) break;
  }
  return groups >= 4 ? end : at;
}

/// Returns the end of the two-digit groups of a hardware address, six or up to twenty for
/// InfiniBand; `at` if there are fewer. With dashes, one group must contain a letter, because dates
/// have digits only.
std::size_t HardwareAt(std::string_view text, std::size_t at, char separator) {
  constexpr std::size_t kMin = 6, kMax = 20;
  const auto is_group = [&](std::size_t begin) {
    const std::string_view group = text.substr(std::min(begin, text.size()), 3);
    return group.size() >= 2 && IsHexDigit(group[0]) && IsHexDigit(group[1]) &&
           (group.size() == 2 || !(IsLetter(group[2]) || IsDigit(group[2])));
  };
  std::size_t groups = 0, end = at;
  for (std::size_t begin = at; groups < kMax && is_group(begin); begin = end + 1) {
    end = begin + 2;
    ++groups;
    if (end == text.size() || text[end] != separator) break;
  }
  const std::string_view found = text.substr(at, end - at);
  const bool fits =
      groups >= kMin && (separator == ':' || std::any_of(found.begin(), found.end(), IsLetter));
  return fits ? end : at;
}

/// Returns the end of an IPv6 address; `at` if none begins there.
std::size_t Ipv6At(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 39;
  std::size_t end = RunOf(text.substr(0, std::min(text.size(), at + kLongest + 2)), at, IsHexColon);
  // Excludes the last colon of "2001:db8::1: refused".
  if (end < text.size() && end > at && text[end - 1] == ':' && text[end] == ' ') --end;
  const bool ends = end == text.size() || !IsWordByte(text[end]);
  return ends && end - at <= kLongest && IsColonAddress(text.substr(at, end - at)) ? end : at;
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns true if a word always means a machine. The other words of MayNameMachines() can also
/// mean parts of a machine, such as NUMA nodes, which have small numbers.
bool NamesMachinesAlone(std::string_view word) {
  return IsOneOf(word, {"host", "server", "machine", "rack", "dgx", "blade", "hpc"});
}
bool MayNameMachines(std::string_view word) {
  return NamesMachinesAlone(word) || IsOneOf(word, {"node", "gpu", "cpu", "worker", "compute", "cn",
                                                    "nid", "login", "slurm", "master", "head"});
}

/// Returns the end of a rack and unit, such as "r05u14"; `at` if none begins here.
std::size_t PlaceInRackAt(std::string_view text, std::size_t at) {
  constexpr std::size_t kMin = 2;
  if (ToLower(text[at]) != 'r') return at;
  const std::size_t unit = RunOf(text, at + 1, IsDigit);
  if (unit < at + 1 + kMin || unit == text.size() || ToLower(text[unit]) != 'u') return at;
  const std::size_t end = RunOf(text, unit + 1, IsDigit);
  return end >= unit + 1 + kMin ? end : at;
}

/// Returns the end of a Slurm list of machines, such as "node[0001-0042]" or "rack2-[01-04,07]";
/// `at` if none begins here. If the word before the bracket does not name machines, the first
/// number must have at least three digits and begin with a zero, so "layers[0-3]" does not match.
std::size_t MachineListAt(std::string_view text, std::size_t at) {
  const auto is_of_list = [](char c) { return IsDigit(c) || c == ',' || c == '-'; };
  const auto is_of_prefix = [](char c) { return IsLetterOrDigit(c) || c == '-'; };
  // Bounds the time for strings such as "a-a-a-", in which a prefix can begin at each byte.
  constexpr std::size_t kLongestPrefix = 64;
  const std::size_t open =
      RunOf(text.substr(0, std::min(text.size(), at + kLongestPrefix)), at, is_of_prefix);
  if (!IsLetter(text[at]) || open == text.size() || text[open] != '[') return at;
  const std::size_t close = RunOf(text, open + 1, is_of_list);
  const std::string_view list = text.substr(open + 1, close - open - 1);
  const bool has_several = list.find_first_of(",-") != std::string_view::npos;
  if (!has_several || close == text.size() || text[close] != ']') return at;
  std::string_view word = text.substr(at, open - at);
  while (!word.empty() && !IsLetter(word.back())) word.remove_suffix(1);
  constexpr std::size_t kDigits = 3;
  const bool has_zeros = list[0] == '0' && RunOf(list, 0, IsDigit) >= kDigits;
  return MayNameMachines(LowerCase(word)) || has_zeros ? close + 1 : at;
}

bool IsBehindSlash(std::string_view text, std::size_t at) {
  return at > 0 && (text[at - 1] == '/' || text[at - 1] == '\\');
}

}  // namespace

bool IsHostByte(char c) { return IsWordByte(c) || c == '-' || c == '.'; }

bool BeginsAt(std::string_view text, std::size_t at) {
  return at == 0 || !(IsHostByte(text[at - 1]) || text[at - 1] == '/' || text[at - 1] == '\\');
}

std::size_t AddressAt(std::string_view text, std::size_t at) {
  const char before = at == 0 ? ' ' : text[at - 1];
  // "libcudnn.so.9.1.0.70" contains a version.
  const bool of_library = text.substr(0, at).ends_with(".so.");
  if (IsDigit(text[at]) && !IsDigit(before) && !of_library) {
    if (const std::size_t end = Ipv4At(text, at, '.'); end > at) return end;
  }
  if (IsLetter(before) || IsDigit(before)) return at;
  constexpr std::string_view kOfCloud = "ip-";
  if (ToLower(text[at]) == kOfCloud[0] && LowerCase(text.substr(at, kOfCloud.size())) == kOfCloud) {
    const std::size_t digits = at + kOfCloud.size();
    if (const std::size_t end = Ipv4At(text, digits, '-'); end > digits) return end;
  }
  if (!IsHexDigit(text[at])) return at;
  for (const char separator : {':', '-'}) {
    if (const std::size_t end = HardwareAt(text, at, separator); end > at) return end;
  }
  // "f16::add" is a C++ name.
  constexpr std::size_t kGroup = 4;
  const bool whole_group = RunOf(text, at, IsHexDigit) == at + kGroup;
  return before != ':' && whole_group ? Ipv6At(text, at) : at;
}

std::size_t UrlAt(std::string_view text, std::size_t at) {
  if (!BeginsAt(text, at) || (at > 0 && IsSchemeByte(text[at - 1]))) return at;
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
  if (IsBehindSlash(text, at)) {  // "openssl/x@3" contains a version.
    const std::string_view host = text.substr(name + 1, end - name - 1);
    const std::size_t dot = host.rfind('.');
    return dot != std::string_view::npos && AllAre(host.substr(dot), IsDomainEnd) ? end : at;
  }
  return end > name + 1 ? end : at;
}

std::size_t UnderscoredAddressAt(std::string_view text, std::size_t at) {
  if (!IsDigit(text[at]) || (at > 0 && (IsLetter(text[at - 1]) || IsDigit(text[at - 1]))))
    return at;
  // A run of more than four numbers is not an address.
  if (at > 1 && text[at - 1] == '_' && IsDigit(text[at - 2])) return at;
  const std::size_t end = Ipv4At(text, at, '_');
  if (end == at || (end < text.size() && IsLetter(text[end]))) return at;
  const std::string_view run = text.substr(at, end - at);
  if (!IsIpv4(run, '_')) return at;
  if (run.starts_with("192_168_") || run.starts_with("169_254_")) return end;
  const std::vector<std::string_view> groups = Split(run, '_');
  if (groups[0] == "172")
    return groups[1] >= "16" && groups[1] <= "31" && groups[1].size() == 2 ? end : at;
  // "conv_10_3_3_1" has small numbers, and "gemm_10_64_64_32" has powers of two.
  const auto is_of_names = [](std::string_view group) {
    constexpr std::string_view kPowers[] = {"16", "32", "64", "128"};
    return group.size() < 2 ||
           std::find(std::begin(kPowers), std::end(kPowers), group) != std::end(kPowers);
  };
  const bool is_private =
      groups[0] == "10" && !std::all_of(groups.begin() + 1, groups.end(), is_of_names);
  return is_private ? end : at;
}

std::size_t NumberedMachineAt(std::string_view text, std::size_t at) {
  if (!IsLetter(text[at]) || (at > 0 && IsLetterOrDigit(text[at - 1]))) return at;
  if (const std::size_t end = MachineListAt(text, at); end > at) return end;
  const std::size_t letters = RunOf(text, at, IsLetter);
  const auto ends_word = [&](std::size_t end) {
    return end == text.size() || !(IsWordByte(text[end]) && text[end] != '_');
  };
  const std::string word = LowerCase(text.substr(at, letters - at));
  if (const std::size_t unit = PlaceInRackAt(text, at); unit > at && ends_word(unit)) return unit;
  const char sign = letters < text.size() && !IsDigit(text[letters]) ? text[letters] : ' ';
  const std::size_t number = sign == '-' || sign == '_' ? letters + 1 : letters;
  const std::size_t end = RunOf(text, number, IsDigit);
  if (end == number || !ends_word(end)) return at;
  // "compute-0-14": rack and position.
  if (sign == '-' && end < text.size() && text[end] == '-' &&
      IsOneOf(word, {"compute", "node", "host", "rack", "server"})) {
    const std::size_t place = RunOf(text, end + 1, IsDigit);
    if (place > end + 1 && ends_word(place)) return place;
  }
  constexpr std::size_t kMin = 3;
  const std::string_view digits = text.substr(number, end - number);
  const bool begins_with_zero = digits.size() > 1 && digits[0] == '0';
  if (sign == '_') {
    // "node_0042" is a machine; "node_3" is a node of a graph.
    return begins_with_zero && digits.size() >= kMin && MayNameMachines(word) ? end : at;
  }
  const bool as_of_many = digits.size() >= kMin || begins_with_zero;
  const bool is_machine = NamesMachinesAlone(word) || (word == "node" && digits.size() > 1) ||
                          (MayNameMachines(word) && as_of_many) ||
                          (word == "n" && begins_with_zero && digits.size() > kMin);
  return is_machine ? end : at;
}

std::size_t NamedMachineAt(std::string_view text, std::size_t at) {
  if (at == 0 || !IsHostByte(text[at]) || IsHostByte(text[at - 1])) return at;
  std::string_view before = text.substr(0, at);
  TakeOpening(before);
  TakeBlanks(before);
  const bool has_sign = !TakeSign(before, /*is_quoted=*/false).empty();
  if (!has_sign && before.size() == at) return at;
  const auto is_behind = [&](std::string_view word) {
    const std::size_t begin = before.size() - std::min(before.size(), word.size());
    return LowerCase(before.substr(begin)) == word && (begin == 0 || !IsLetter(before[begin - 1]));
  };
  if (!is_behind("host") && !is_behind("hostname")) return at;
  std::size_t end = RunOf(text, at, IsHostByte);
  // Excludes the punctuation that ends a sentence.
  while (end > at && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  const std::string_view run = text.substr(at, end - at);
  if (run.empty() || !IsLetter(run[0])) return at;
  // After a sign, every word is a name, except for memory kinds of copies and XLA's device names
  // ("/host:CPU"). Without a sign, a name has a dash and a digit.
  const bool is_memory =
      IsOneOf(LowerCase(run), {"device", "host", "pinned", "pageable", "cpu", "gpu", "metadata"});
  const bool is_name =
      run.find('-') != std::string_view::npos && std::any_of(run.begin(), run.end(), IsDigit);
  return is_name || (has_sign && !is_memory) ? end : at;
}

std::size_t HostAt(std::string_view text, std::size_t at) {
  if (!IsHostByte(text[at]) || (at > 0 && IsHostByte(text[at - 1]))) return at;
  const std::size_t end = RunOf(text, at, IsHostByte);
  std::string_view run = text.substr(at, end - at);
  while (run.ends_with('.') || run.ends_with('-')) run.remove_suffix(1);  // End of a sentence.
  const std::string_view dashed = run.substr(0, run.find('.'));
  const std::size_t dash = std::min(dashed.find('-'), dashed.size());
  const bool of_cloud = dash < dashed.size() && IsIpv4(dashed.substr(dash + 1), '-');
  const std::string_view id =
      run.starts_with("GPU-") || run.starts_with("MIG-") ? run.substr(4) : run;
  // "corpora/europarl-v7.de" is a file.
  const bool is_domain =
      IsDomain(run) && (!IsBehindSlash(text, at) || std::count(run.begin(), run.end(), '.') > 1);
  if (IsIpv4(run, '.') || IsIpv4(run, '-') || of_cloud || IsDashedId(id) || IsDottedId(run) ||
      is_domain)
    return at + run.size();
  return Ipv6At(text, at);
}

}  // namespace headroom
