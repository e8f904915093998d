// Searches the written copy for strings that had to be removed.
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
  std::string form;  ///< "plain", or the encoding (redact/decoded_text.h).
  bool asked;        ///< True for a word that the user asked to remove.
  /// Offset in the decompressed file in bytes; for encoded text, the offset of its encoded part.
  std::int64_t offset;
};

/// Finds strings of at least six bytes in any case of letters, plain and in each encoding of
/// redact/decoded_text.h. Shorter strings occur by chance; LeakedText() finds them as words.
///
/// Words that the user asked to remove are also found within public words; other strings are not.
/// If such a word is public, or within one public word, the bytes do not show whether the format
/// wrote it. LeakedText() alone then decides.
class LeakScan {
 public:
  /// Ignores strings that the redactor's rules keep.
  LeakScan(const std::vector<Replacement>& removed, const TextRedactor& redactor);

  /// Returns the first leak in a file after decompression. Fails as OpenByteSource() does.
  ///
  /// @param bytes  output: number of bytes read
  Result<std::optional<Leak>> ScanFile(const std::string& path, std::int64_t& bytes) const;
  /// Returns the first leak in a string of a trace.
  std::optional<Leak> Scan(std::string_view text) const;

  /// Returns the first part of a string in the copy that had to be removed; nullopt if there is
  /// none. The part is a word, a part of a word, a word that the user asked to remove, or a match
  /// of an expression.
  std::optional<std::string> LeakedText(std::string_view text) const;

  std::size_t texts() const { return originals_.size(); }

 private:
  struct Text {
    std::string original, lower;
    bool asked;
  };
  void Add(const std::string& original, bool asked);
  /// @param offset  offset of the bytes in their file; 0 for other bytes
  std::optional<Leak> Scan(std::string_view bytes, std::int64_t offset, bool of_file) const;
  /// @param spares  true to ignore a word that the user asked to remove if it is within one public
  /// word
  const Text* FoundAt(std::string_view text, std::string_view lower, std::size_t at,
                      bool spares) const;
  /// Returns the first match in text decoded from `form`, and its position in `at`.
  const Text* FoundIn(std::string_view text, std::string_view form, bool of_file,
                      std::size_t& at) const;

  const TextRedactor& redactor_;
  std::vector<Text> originals_;  ///< All strings to search for.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_begin_;
  std::vector<bool>
      begins_;  ///< Indexed by the hash of the first bytes; true if a string has that hash.
  std::unordered_set<std::string> words_;  ///< Searched strings, in lower case.
  std::size_t longest_ = 0;
};

}  // namespace headroom
