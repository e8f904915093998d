// A trace in Chrome's JSON, written event by event, so that no more than a piece is in memory,
// unless it goes into what is no regular file (a pipe), which is written once it is whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "base/gzip.h"
#include "base/status.h"

namespace headroom {

/// Whole or not there: until Commit() it lies beside its place.
class TraceFile {
 public:
  /// @param path    compressed where it ends in ".gz"
  /// @param header  members of the object before the events: `"schemaVersion": 1`; may be empty
  static Result<TraceFile> Create(const std::string& path, std::string_view header);

  /// One event, a JSON object. The first failure stays, and Commit() tells it.
  void Add(std::string_view event);
  const Status& status() const { return status_; }
  /// Writes what is left and puts the file in its place.
  /// @param trailer  members of the object behind the events, as the header
  Status Commit(std::string_view trailer);
  /// The file, whole and closed but not yet in its place.
  Result<AtomicFile> Finish(std::string_view trailer) &&;

 private:
  TraceFile(AtomicFile file, bool compressed);
  void Write(bool last);
  Status Close(std::string_view trailer);

  AtomicFile file_;
  std::optional<GzipStream> gzip_;
  std::string piece_;
  bool first_ = true;
  Status status_;
};

}  // namespace headroom
