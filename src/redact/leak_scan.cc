#include "redact/leak_scan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "ingest/byte_source.h"

namespace headroom {
namespace {

constexpr std::size_t kBegin = 6;  ///< Bytes by which patterns are found.
constexpr std::uint64_t kBeginMask = (std::uint64_t{1} << (8 * kBegin)) - 1;
constexpr std::size_t kHashBits = 20;

std::uint64_t BeginOf(const char* bytes) {
  std::uint64_t begin = 0;
  std::memcpy(&begin, bytes, kBegin);
  return begin & kBeginMask;
}
std::size_t HashOf(std::uint64_t begin) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  return static_cast<std::size_t>((begin * kOdd) >> (64 - kHashBits));
}

std::string Hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

/// Every byte that is no letter or digit as %XX.
std::string Percent(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : "%" + Hex(std::string_view(&c, 1));
  }
  return out;
}

std::string Utf16(std::string_view text, bool big_endian) {
  std::string out;
  for (const char c : text) {
    if (big_endian) out += '\0';
    out += c;
    if (!big_endian) out += '\0';
  }
  return out;
}

/// What base64 makes of a text that stands `shift` bytes behind a multiple of three, without the
/// digits that its neighbours decide, too.
std::string Base64(std::string_view text, std::size_t shift) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes(shift, '\0');
  bytes += text;
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kDigits[bits >> (held - 6) & 63];
    bits &= (1U << held) - 1;
  }
  return out.substr((shift * 8 + 5) / 6);
}

}  // namespace

void LeakScan::Add(std::string bytes, std::size_t original, std::string_view form, bool any_case) {
  if (bytes.size() < kBegin) return;
  const std::uint64_t begin = BeginOf(bytes.data());
  std::vector<std::uint32_t>& same = by_begin_[begin];
  for (const std::uint32_t other : same) {
    if (patterns_[other].bytes == bytes && patterns_[other].any_case == any_case) return;
  }
  same.push_back(static_cast<std::uint32_t>(patterns_.size()));
  begins_[HashOf(begin)] = true;
  longest_ = std::max(longest_, bytes.size());
  patterns_.push_back({std::move(bytes), original, form, any_case});
}

LeakScan::LeakScan(const std::vector<Replacement>& removed, const TextRedactor& redactor)
    : redactor_(redactor), begins_(std::size_t{1} << kHashBits) {
  for (const Replacement& row : removed) {
    if (redactor.Stays(row.original)) continue;
    // Where names stay, one may be that of a folder or file, too.
    if (row.kind == SecretKind::kPaths && !redactor.removes(SecretKind::kNames) &&
        row.original.find_first_of("/\\") == std::string::npos)
      continue;
    const std::size_t i = originals_.size();
    originals_.push_back(row.original);
    words_.insert(LowerAscii(row.original));
    if (row.original.size() < kBegin) continue;
    const std::string& text = row.original;
    const std::string lower = LowerAscii(text);
    Add(lower, i, "plain", true);
    std::string escaped =
        nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    Add(LowerAscii(escaped.substr(1, escaped.size() - 2)), i, "JSON", true);
    Add(Percent(lower), i, "percent", true);
    Add(Hex(text), i, "hexadecimal", true);
    Add(Utf16(lower, false), i, "UTF-16", true);
    Add(Utf16(lower, true), i, "UTF-16", true);
    for (std::size_t shift = 0; shift < 3; ++shift) Add(Base64(text, shift), i, "base64", false);
  }
}

/// Whether a find in the middle of a word says nothing: "former" of "transformer".
bool LeakScan::IsPartOfPublicWord(std::string_view text, std::size_t at, std::size_t size) const {
  std::size_t begin = at, end = at + size;
  while (begin > 0 && IsWordByte(text[begin - 1])) --begin;
  while (end < text.size() && IsWordByte(text[end])) ++end;
  if (begin == at && end == at + size) return false;
  // In a binary file, the byte that says how long a text is may look like its first letter.
  for (std::size_t skipped = 0; skipped < 2 && begin + skipped <= at; ++skipped) {
    const std::string_view word = text.substr(begin + skipped, end - begin - skipped);
    if (word.size() > size && redactor_.Stays(word)) return true;
    // A part of a word that is public, in one that is not.
    bool inside = false;
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      const std::size_t from = begin + skipped + first, to = begin + skipped + last;
      inside |= from <= at && at + size <= to && to - from > size &&
                redactor_.names().IsPublicPart(word.substr(first, last - first));
    });
    if (inside) return true;
  }
  return false;
}

std::optional<Leak> LeakScan::Scan(std::string_view text, std::int64_t offset) const {
  if (patterns_.empty() || text.size() < kBegin) return std::nullopt;
  const std::string lower = LowerAscii(text);
  const auto look = [&](std::string_view in, std::size_t at, bool any_case) -> const Pattern* {
    const std::uint64_t begin = BeginOf(in.data() + at);
    if (!begins_[HashOf(begin)]) return nullptr;
    const auto same = by_begin_.find(begin);
    if (same == by_begin_.end()) return nullptr;
    for (const std::uint32_t i : same->second) {
      const Pattern& pattern = patterns_[i];
      if (pattern.any_case == any_case && in.substr(at).starts_with(pattern.bytes) &&
          (pattern.form != "plain" || !IsPartOfPublicWord(text, at, pattern.bytes.size())))
        return &pattern;
    }
    return nullptr;
  };
  for (std::size_t at = 0; at + kBegin <= text.size(); ++at) {
    const Pattern* found = look(lower, at, true);
    if (found == nullptr) found = look(text, at, false);
    if (found != nullptr)
      return Leak{originals_[found->original], std::string(found->form),
                  offset + static_cast<std::int64_t>(at)};
  }
  return std::nullopt;
}

Result<std::optional<Leak>> LeakScan::ScanFile(const std::string& path, std::int64_t& bytes) const {
  // What was just written is no bomb, however well it was compressed.
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, {.max_ratio = INT64_MAX});
  if (!source.ok()) return source.status();
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  const std::size_t overlap = longest_ + 256;  // A find is judged by the word around it.
  std::string text;
  std::vector<char> block(kBlock);
  bytes = 0;
  while (true) {
    const Result<std::size_t> got = source.value()->Read(block);
    if (!got.ok()) return got.status();
    if (got.value() == 0) return std::optional<Leak>();
    if (text.size() > overlap) text.erase(0, text.size() - overlap);
    const std::int64_t offset = bytes - static_cast<std::int64_t>(text.size());
    text.append(block.data(), got.value());
    bytes += static_cast<std::int64_t>(got.value());
    if (auto leak = Scan(text, offset)) return leak;
  }
}

std::optional<std::string> LeakScan::LeakedWord(std::string_view text) const {
  std::optional<std::string> leaked;
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    if (leaked || redactor_.Stays(word)) return;
    if (words_.contains(LowerAscii(word))) leaked = std::string(word);
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      const std::string_view part = word.substr(first, last - first);
      if (!leaked && !redactor_.names().IsPublicPart(part) && words_.contains(LowerAscii(part)))
        leaked = std::string(part);
    });
  });
  return leaked;
}

}  // namespace headroom
