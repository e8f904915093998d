// Interned strings: equal strings share one 32-bit id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace headroom {

/// Maps strings to dense ids in order of first appearance, and back. Bytes stay unchanged: a string
/// may hold any bytes, including invalid UTF-8 and zeros. Id 0 is always the empty string.
///
/// Not thread-safe: each reader thread has a separate pool. The pools are merged in file order
/// (ingest/), so that ids do not depend on the number of threads.
class StringPool {
 public:
  StringPool();

  /// Returns the id of `text` and copies new text. Truncates text beyond 4 GiB. O(length), plus one
  /// probe of the table.
  StringId Intern(std::string_view text);
  /// Returns the id of `text` if it was interned before, else none.
  StringId Find(std::string_view text) const;

  /// Returns the text of an id; the view lives as long as the pool. REQUIRES: `id` is valid and
  /// from this pool.
  std::string_view Get(StringId id) const { return entries_[id.index()].view(); }
  std::size_t size() const { return entries_.size(); }
  /// Returns the resident bytes of the pool: text, entries and hash table.
  std::size_t MemoryBytes() const;

 private:
  struct Entry {
    const char* data;
    std::uint32_t length;
    std::uint32_t hash;  ///< Low half of the hash; saves most comparisons and all rehashing.
    std::string_view view() const { return {data, length}; }
  };

  std::size_t Probe(std::string_view text, std::uint32_t hash) const;
  const char* Store(std::string_view text);
  void Grow();

  std::vector<Entry> entries_;
  /// Entry index + 1, or 0. The size is a power of two, at most 7/10 full.
  std::vector<std::uint32_t> slots_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_used_ = 0;
  std::size_t block_size_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace headroom
