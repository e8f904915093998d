// Writes a trace in Chrome's JSON format event by event, with only a piece in memory. A target that
// is not a regular file, such as a pipe, is written once the trace is complete.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "base/gzip.h"
#include "base/status.h"

namespace headroom {

/// A file that is complete or absent: until Commit(), a temporary file next to the target holds the
/// data.
class TraceFile {
 public:
  /// @param path  path of the file, which is compressed if the path ends in ".gz"
  /// @param header  members of the object before the events: `"schemaVersion": 1`; may be empty
  static Result<TraceFile> Create(const std::string& path, std::string_view header);

  /// Adds one event, a JSON object. Commit() reports the first failure.
  void Add(std::string_view event);
  const Status& status() const { return status_; }
  /// Writes the remaining data and moves the file into place.
  /// @param trailer  members of the object after the events, in the form of the header
  Status Commit(std::string_view trailer);
  /// Returns the complete, closed file, which is not yet in place.
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
