// Looks in what was written for what was to be removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "redact/text_redactor.h"

namespace headroom {

struct Leak {
  std::string original;
  std::string form;     ///< "plain", "base64", ...
  std::int64_t offset;  ///< Byte of the decompressed file.
};

/// Finds texts of six bytes and more in any case of letters, and also as JSON, percent and
/// hexadecimal digits, UTF-16 and base64 write them. Shorter ones are in everything by chance;
/// LeakedWord() finds them where they are words.
class LeakScan {
 public:
  /// Texts that stay by the redactor's rules are not looked for.
  LeakScan(const std::vector<Replacement>& removed, const TextRedactor& redactor);

  /// The first leak in a file, decompressed; fails as OpenByteSource() does. `bytes`: read.
  Result<std::optional<Leak>> ScanFile(const std::string& path, std::int64_t& bytes) const;
  std::optional<Leak> Scan(std::string_view text, std::int64_t offset) const;

  /// A word, or part of a word, of a text that was to be removed; nullopt: there is none.
  std::optional<std::string> LeakedWord(std::string_view text) const;

  std::size_t texts() const { return originals_.size(); }

 private:
  struct Pattern {
    std::string bytes;
    std::size_t original;
    std::string_view form;
    bool any_case;
  };
  void Add(std::string bytes, std::size_t original, std::string_view form, bool any_case);
  bool IsPartOfPublicWord(std::string_view text, std::size_t at, std::size_t size) const;

  const TextRedactor& redactor_;
  std::vector<std::string> originals_;  ///< All that are looked for.
  std::vector<Pattern> patterns_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_begin_;
  std::vector<bool> begins_;  ///< Of a hash of the first bytes: whether any pattern has it.
  std::unordered_set<std::string> words_;  ///< In lower case.
  std::size_t longest_ = 0;
};

}  // namespace headroom
