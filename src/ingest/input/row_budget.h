// Limits the number of rows by the size of the file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "ingest/input/byte_source.h"

namespace headroom {

/// Counts events, tracks and names as rows. In binary formats, a few bytes of a file make a row
/// that takes a hundred bytes of memory.
class RowBudget {
 public:
  /// Requires that `source` outlives the budget.
  RowBudget(std::string path, ExpansionLimit limit, const ByteSource& source)
      : path_(std::move(path)), limit_(limit), source_(source) {}

  /// Counts rows. Returns true if the file may have that many rows. After a return of false,
  /// status() states why.
  bool Add(std::int64_t rows) { return Allows(rows_ += rows); }
  /// Returns true if the file may have `rows` rows in total.
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
  std::int64_t allowed_ = 0;  ///< Row limit that follows from the bytes read at the last check.
  Status status_;
};

}  // namespace headroom
