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
  std::string form;     ///< "plain", or the encoding (redact/decoded_text.h).
  bool asked;           ///< Of a word that was asked for.
  std::int64_t offset;  ///< Byte of the decompressed file; of what is escaped, where to begin.
};

/// Finds texts of six bytes and more in any case of letters, plain and in each encoding of
/// redact/decoded_text.h. Shorter ones are in everything by chance; LeakedText() finds them where
/// they are words. Words that the user asked to be removed are found in public words, too, others
/// are not; but of one that is public or within one public word, bytes do not tell whether the
/// format wrote it, so that LeakedText() alone decides.
class LeakScan {
 public:
  /// Texts that stay by the redactor's rules are not looked for.
  LeakScan(const std::vector<Replacement>& removed, const TextRedactor& redactor);

  /// The first leak in a file, decompressed; fails as OpenByteSource() does. `bytes`: read.
  Result<std::optional<Leak>> ScanFile(const std::string& path, std::int64_t& bytes) const;
  /// The first leak in a text of a trace.
  std::optional<Leak> Scan(std::string_view text) const;

  /// What of one of the copy's texts was to be removed: a word or part of one, a word that was
  /// asked for, or what an expression matches. nullopt: nothing.
  std::optional<std::string> LeakedText(std::string_view text) const;

  std::size_t texts() const { return originals_.size(); }

 private:
  struct Text {
    std::string original, lower;
    bool asked;
  };
  void Add(const std::string& original, bool asked);
  /// `offset`: of the bytes in their file, if they are of one.
  std::optional<Leak> Scan(std::string_view bytes, std::int64_t offset, bool of_file) const;
  /// `spares`: words that were asked for may stand within one public word.
  const Text* FoundAt(std::string_view text, std::string_view lower, std::size_t at,
                      bool spares) const;
  /// Of bytes that are read as `form`, and where in them.
  const Text* FoundIn(std::string_view text, std::string_view form, bool of_file,
                      std::size_t& at) const;

  const TextRedactor& redactor_;
  std::vector<Text> originals_;  ///< All that are looked for.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_begin_;
  std::vector<bool> begins_;  ///< Of a hash of the first bytes: whether any text has it.
  std::unordered_set<std::string> words_;  ///< In lower case.
  std::size_t longest_ = 0;
};

}  // namespace headroom
