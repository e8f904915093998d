#include "redact/public_names.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "embedded/redact_files.h"
#include "store/import_log.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

/// Returns the end of the part of a word that begins with a letter at `at`: "Batch" in "BatchNorm",
/// "NLL" in "NLLLoss".
std::size_t EndOfPart(std::string_view word, std::size_t at) {
  std::size_t end = at + 1;
  if (IsUpper(word[at])) {
    while (end < word.size() && IsUpper(word[end])) ++end;
    const bool lower_follows = end < word.size() && IsLower(word[end]);
    if (!lower_follows) return end;
    if (end - at > 1) return end - 1;
  }
  while (end < word.size() && IsLower(word[end])) ++end;
  return end;
}

/// Members that copies add around the events (export/chrome_events.cc, perfetto_events.cc).
constexpr std::string_view kMembers[] = {
    "schemaVersion traceEvents displayTimeUnit baseTimeNanoseconds distributedInfo world_size rank",
    "deviceProperties totalGlobalMem numSms computeMajor computeMinor cuda_driver_version",
    "headroom_copy_of headroom_damage process_name process_labels thread_name unit series",
    "exported trace versions device thread counter damage copy_of is_forecast has_end end",
    "names_and_times_only ordinal memory_bytes sm_count compute_major compute_minor overlapping"};

Status ReadList(const toml::table& table, std::string_view key, const std::string& file,
                std::set<std::string>& into) {
  const toml::array* list = table[key].as_array();
  if (list == nullptr) return Status::BadInput(fmt::format("{}: list '{}' is required", file, key));
  for (const toml::node& item : *list) {
    const auto text = item.value<std::string>();
    if (!text)
      return Status::BadInput(fmt::format("{}: '{}' must be a list of strings", file, key));
    into.insert(*text);
  }
  return Status::Ok();
}

}  // namespace

bool IsWordByte(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

void ForEachWord(std::string_view text,
                 const std::function<void(std::size_t, std::size_t)>& visit) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!IsWordByte(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && IsWordByte(text[end])) ++end;
    visit(at, end);
    at = end;
  }
}

void ForEachPart(std::string_view word,
                 const std::function<void(std::size_t, std::size_t)>& visit) {
  for (std::size_t at = 0; at < word.size();) {
    if (!IsLetter(word[at])) {
      ++at;
      continue;
    }
    const std::size_t end = EndOfPart(word, at);
    visit(at, end);
    at = end;
  }
}

bool BeginsPart(std::string_view word, std::size_t at) {
  const char before = word[at - 1], here = word[at];
  if (!IsLetter(before) || !IsLetter(here)) return true;
  if (!IsUpper(here)) return false;
  return IsLower(before) || (at + 1 < word.size() && IsLower(word[at + 1]));
}

Result<PublicNames> PublicNames::LoadBuiltIn() { return Parse(RedactFiles().front()); }

Result<PublicNames> PublicNames::Parse(const NamedText& file) {
  const std::string name(file.name);
  toml::table table;
  try {
    table = toml::parse(file.content, name);
  } catch (const toml::parse_error& error) {
    return Status::BadInput(
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
  PublicNames names;
  for (const auto& [key, into] :
       {std::pair("packages", &names.packages_), std::pair("namespaces", &names.namespaces_),
        std::pair("arguments", &names.arguments_), std::pair("prefixes", &names.prefixes_)}) {
    if (Status status = ReadList(table, key, name, *into); !status.ok()) return status;
  }
  const toml::table* lists = table["words"].as_table();
  if (lists == nullptr) return Status::BadInput(fmt::format("{}: table 'words' is required", name));
  for (const auto& [list, node] : *lists) {
    const auto words = node.value<std::string>();
    if (!words)
      return Status::BadInput(
          fmt::format("{}: words.{} must be a string", name, std::string(list.str())));
    ForEachWord(*words, [&](std::size_t begin, std::size_t end) {
      names.words_.insert(words->substr(begin, end - begin));
    });
  }
  for (const std::string& package : names.packages_) {
    ForEachPart(package, [&](std::size_t begin, std::size_t end) {
      names.words_.insert(LowerCase(package.substr(begin, end - begin)));
    });
  }
  // Words of a copy's format count as public, because the bytes do not show whether the format or a
  // user wrote them.
  const auto add_words = [&](std::string_view text) {
    ForEachWord(text, [&](std::size_t begin, std::size_t end) {
      const std::string_view word = text.substr(begin, end - begin);
      ForEachPart(word, [&](std::size_t first, std::size_t last) {
        names.words_.insert(LowerCase(word.substr(first, last - first)));
      });
    });
  };
  for (const std::string& argument : names.arguments_) add_words(argument);
  for (const std::string_view argument : kKinetoArgNames) add_words(argument);
  for (const std::string_view member : kMembers) add_words(member);
  for (std::size_t i = 0; i < kImportIssueCount; ++i)
    add_words(DocOf(static_cast<ImportIssue>(i)).code);
  for (const std::string& word : names.words_)
    names.longest_word_ = std::max(names.longest_word_, word.size());
  return names;
}

bool PublicNames::IsInPublicPart(std::string_view text, std::size_t at, std::size_t size) const {
  std::size_t begin = at, end = at + 1;
  while (begin > 0 && at - begin <= longest_word_ && !BeginsPart(text, begin)) --begin;
  while (end < text.size() && end - begin <= longest_word_ && !BeginsPart(text, end)) ++end;
  return IsLetter(text[at]) && at + size <= end && IsPublicPart(text.substr(begin, end - begin));
}

bool PublicNames::IsPublicPart(std::string_view part) const {
  return part.size() == 1 || words_.contains(LowerCase(part));
}

bool PublicNames::IsPublicWord(std::string_view word) const {
  for (const std::string& prefix : prefixes_) {
    if (word.starts_with(prefix)) return true;
  }
  if (word.starts_with("0x") &&
      word.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos)
    return true;            // An address.
  std::string letters;      // Single-letter parts since the last underscore.
  std::size_t changes = 0;  // Changes from letters to digits since the last underscore.
  const auto looks_random = [&] {
    constexpr std::size_t kMaxLetters = 3;  // For instance m16n8k16.
    constexpr std::size_t kMaxChanges = 8;
    std::sort(letters.begin(), letters.end());
    const bool usual = letters.find_first_not_of("bdfikmnstux") == std::string::npos;
    letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
    return letters.size() > kMaxLetters || (letters.size() == kMaxLetters && !usual) ||
           changes > kMaxChanges;
  };
  for (std::size_t at = 0; at < word.size();) {
    const char c = word[at];
    if (c == '_') {
      if (looks_random()) return false;
      letters.clear();
      changes = 0;
      ++at;
    } else if (IsDigit(c)) {
      ++at;
    } else if (IsLetter(c)) {
      const std::size_t end = EndOfPart(word, at);
      if (end - at == 1) {
        letters += LowerCase(word.substr(at, 1));
      } else if (!IsPublicPart(word.substr(at, end - at))) {
        return false;
      }
      if (end < word.size() && IsDigit(word[end])) ++changes;
      at = end;
    } else {
      return false;
    }
  }
  return !looks_random();
}

}  // namespace headroom
