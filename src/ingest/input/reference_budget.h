// Limits the total size of texts that a file contains once and its events repeat by reference.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingest/input/expansion_limit.h"

namespace headroom {

/// Events refer to long texts by short numbers, and a hostile file could refer to one text a
/// million times. As for compressed files, the output may exceed the file only by a fixed ratio.
class ReferenceBudget {
 public:
  explicit ReferenceBudget(ExpansionLimit limit) : limit_(limit) {}

  /// @param bytes  number of bytes read so far from the file on disk
  void HasRead(std::int64_t bytes) { read_ = bytes; }
  /// Returns true if a text of `bytes` bytes may be read or written once more, and counts it.
  bool Take(std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > limit_.BytesOf(read_) - taken_) return false;
    taken_ += static_cast<std::int64_t>(bytes);
    return true;
  }

 private:
  ExpansionLimit limit_;
  std::int64_t read_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace headroom
