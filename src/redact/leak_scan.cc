#include "redact/leak_scan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "ingest/input/byte_source.h"
#include "redact/decoded_text.h"
#include "redact/mangled_name.h"

namespace headroom {
namespace {

constexpr std::size_t kBegin = 6;  ///< Length in bytes of the prefix by which strings are indexed.
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

/// Returns true if a match has the capitalization of a written word. Decoding unencoded bytes gives
/// many random bytes. Six of them can match a string in a random mixture of cases.
bool IsInOneCase(std::string_view found, std::string_view original, std::string_view lower) {
  if (found == original || found == lower) return true;
  if (std::none_of(found.begin(), found.end(), IsLower)) return true;
  return IsUpper(found.front()) && std::none_of(found.begin() + 1, found.end(), IsUpper);
}

/// Returns true if a string consists of public words, such as "aten::mm" or "1010.25". Such a value
/// can be removed as a secret because of its position.
bool IsOfPublicWords(std::string_view text, const TextRedactor& redactor) {
  bool are_public = true;
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    are_public = are_public && redactor.Stays(text.substr(begin, end - begin));
  });
  return are_public;
}

}  // namespace

void LeakScan::Add(const std::string& original, bool asked) {
  std::string lower = LowerCase(original);
  words_.insert(lower);
  const auto number = static_cast<std::uint32_t>(originals_.size());
  if (lower.size() >= kBegin) {
    const std::uint64_t begin = BeginOf(lower.data());
    by_begin_[begin].push_back(number);
    begins_[HashOf(begin)] = true;
    longest_ = std::max(longest_, lower.size());
  }
  originals_.push_back({original, std::move(lower), asked});
}

LeakScan::LeakScan(const std::vector<Replacement>& removed, const TextRedactor& redactor)
    : redactor_(redactor), begins_(std::size_t{1} << kHashBits) {
  for (const Replacement& row : removed) {
    const bool by_form = redactor.IsByForm(row.original);
    if (row.asked || (redactor.Stays(row.original) && !by_form)) continue;
    // An argument is dropped because of its position, so the same string can be kept elsewhere. Its
    // private words have their own rows.
    if (row.kind == SecretKind::kArguments) continue;
    // If names are kept, one of them can equal the name of a removed folder or file.
    if (row.kind == SecretKind::kPaths && !redactor.removes(SecretKind::kNames) &&
        row.original.find_first_of("/\\") == std::string::npos)
      continue;
    if (row.kind == SecretKind::kNames && !by_form && IsOfPublicWords(row.original, redactor))
      continue;
    // An expression can match a number. Numbers also occur as process ids and in sizes.
    if (row.original.find_first_not_of("0123456789") == std::string::npos) continue;
    Add(row.original, false);
  }
  for (const std::string& word : redactor.asked().words()) Add(word, true);
}

const LeakScan::Text* LeakScan::FoundAt(std::string_view text, std::string_view lower,
                                        std::size_t at, bool spares) const {
  const std::uint64_t begin = BeginOf(lower.data() + at);
  if (!begins_[HashOf(begin)]) return nullptr;
  const auto same = by_begin_.find(begin);
  if (same == by_begin_.end()) return nullptr;
  for (const std::uint32_t i : same->second) {
    const Text& one = originals_[i];
    const std::size_t size = one.lower.size();
    if (!lower.substr(at).starts_with(one.lower)) continue;
    // In a binary file, the length byte before a string can look like its first letter.
    std::size_t word = at;
    while (word > 0 && IsWordByte(text[word - 1])) --word;
    const auto stays = [&](auto&& is) {
      return is(text, at) || (word < at && is(text.substr(word + 1), at - word - 1));
    };
    if (one.asked) {
      // The byte after a string can likewise look like its last letter.
      if (spares && (redactor_.names().IsPublicPart(one.lower) ||
                     stays([&](std::string_view in, std::size_t from) {
                       return redactor_.names().IsInPublicPart(in, from, size);
                     })))
        continue;
    } else if (stays([&](std::string_view in, std::size_t from) {
                 return redactor_.IsOfOther(in, from, size);
               })) {
      continue;
    }
    return &one;
  }
  return nullptr;
}

const LeakScan::Text* LeakScan::FoundIn(std::string_view text, std::string_view form, bool of_file,
                                        std::size_t& at) const {
  const std::string lower = LowerCase(text);
  // These forms decode only the escapes; the other bytes are as written.
  const bool is_escaped = form == "escaped" || form == "quoted-printable";
  const bool may_be_random = form != "plain" && !is_escaped;
  const bool spares = form == "plain" || (of_file && is_escaped);
  for (at = 0; at + kBegin <= text.size(); ++at) {
    const Text* found = FoundAt(text, lower, at, spares);
    if (found == nullptr) continue;
    const std::string_view written = text.substr(at, found->lower.size());
    if (!may_be_random || IsInOneCase(written, found->original, found->lower)) return found;
  }
  return nullptr;
}

std::optional<Leak> LeakScan::Scan(std::string_view text) const {
  return Scan(text, 0, /*of_file=*/false);
}

std::optional<Leak> LeakScan::Scan(std::string_view bytes, std::int64_t offset,
                                   bool of_file) const {
  if (by_begin_.empty() || bytes.size() < kBegin) return std::nullopt;
  const auto leak = [&](const Text& text, std::string_view form, std::size_t at) {
    return Leak{text.original, std::string(form), text.asked,
                offset + static_cast<std::int64_t>(at)};
  };
  std::size_t at = 0;
  if (const Text* found = FoundIn(bytes, "plain", of_file, at)) return leak(*found, "plain", at);
  std::optional<Leak> hidden;
  AnyDecoded(bytes, [&](const Decoded& decoded) {
    std::size_t in_decoded = 0;
    if (const Text* found = FoundIn(decoded.text, decoded.form, of_file, in_decoded))
      hidden = leak(*found, decoded.form, decoded.at);
    return hidden.has_value();
  });
  return hidden;
}

Result<std::optional<Leak>> LeakScan::ScanFile(const std::string& path, std::int64_t& bytes) const {
  // A file just written is not a decompression bomb, even if it compresses extremely well.
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, {.max_ratio = INT64_MAX});
  if (!source.ok()) return source.status();
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  // Each byte can be encoded as six, and a match depends on the word around it.
  constexpr std::size_t kMaxOfAByte = 6, kAround = 256;
  const std::size_t overlap = kMaxOfAByte * (longest_ + kAround);
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
    if (auto leak = Scan(text, offset, /*of_file=*/true)) return leak;
  }
}

std::optional<std::string> LeakScan::LeakedText(std::string_view text) const {
  if (const std::vector<AskedTexts::Span> spans = redactor_.asked().SpansOf(text); !spans.empty()) {
    // An expression can match a replacement, or a replacement with the text around it.
    const std::vector<bool> is_token = redactor_.BytesOfTokens(text);
    const bool has_spared = redactor_.HasSpared(text);
    for (const AskedTexts::Span& span : spans) {
      const auto begin = is_token.begin() + static_cast<std::ptrdiff_t>(span.begin);
      const auto end = is_token.begin() + static_cast<std::ptrdiff_t>(span.end);
      const bool is_spared =
          has_spared && span.is_word &&
          redactor_.names().IsInPublicPart(text, span.begin, span.end - span.begin);
      if (std::find(begin, end, true) == end && !is_spared)
        return std::string(text.substr(span.begin, span.end - span.begin));
    }
  }
  std::optional<std::string> leaked;
  const auto look = [&](std::string_view word) {
    if (leaked || (redactor_.Stays(word) && !redactor_.IsByForm(word))) return;
    if (words_.contains(LowerCase(word))) leaked = std::string(word);
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      const std::string_view part = word.substr(first, last - first);
      if (!leaked && !redactor_.names().IsPublicPart(part) && words_.contains(LowerCase(part)))
        leaked = std::string(part);
    });
  };
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    if (!IsMangled(word)) return look(word);
    WithIdentifiers(word, [&](std::string_view name) {
      look(name);
      return std::string(name);
    });
  });
  return leaked;
}

}  // namespace headroom
