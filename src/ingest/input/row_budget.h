// How many rows a file has made, against what its size allows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "ingest/input/byte_source.h"

namespace headroom {

/// Events, tracks and names are rows: in binary formats, a few bytes of a file make one that takes
/// a hundred bytes of memory.
class RowBudget {
 public:
  /// Requires that `source` outlives the budget.
  RowBudget(std::string path, ExpansionLimit limit, const ByteSource& source)
      : path_(std::move(path)), limit_(limit), source_(source) {}

  /// Counts rows. Returns whether the file may have so many; once it may not, status() says why.
  bool Add(std::int64_t rows) { return Allows(rows_ += rows); }
  /// The same for rows that are counted elsewhere.
  bool Allows(std::int64_t rows) {
    if (rows <= allowed_) return true;
    const std::int64_t file_bytes = source_.file_bytes_read();
    allowed_ = limit_.EventsOf(file_bytes);
    if (status_.ok()) status_ = limit_.CheckEvents(path_, rows, file_bytes);
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  std::string path_;
  ExpansionLimit limit_;
  const ByteSource& source_;
  std::int64_t rows_ = 0;
  std::int64_t allowed_ = 0;  ///< By what was read when that was last looked at.
  Status status_;
};

}  // namespace headroom
