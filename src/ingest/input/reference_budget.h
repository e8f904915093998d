// What texts may take that a file holds once and its events refer to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingest/input/expansion_limit.h"

namespace headroom {

/// Events name long texts by short numbers, and a hostile file names one a million times. As of
/// compressed files, what is made of a file may be so many times larger than the file and no more.
class ReferenceBudget {
 public:
  explicit ReferenceBudget(ExpansionLimit limit) : limit_(limit) {}

  /// `bytes`: of the file on disk, until now.
  void HasRead(std::int64_t bytes) { read_ = bytes; }
  /// Whether a text of so many bytes may be read or written once more; then it counts.
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
