// A window over the part of a JSON file that is being read. It moves along the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "ingest/input/byte_source.h"

namespace headroom::rocprof {

class JsonWindow {
 public:
  /// `step`: minimum bytes per read, at least 1; does not affect the result. `progress`: called
  /// with the number of bytes read from the file; may be empty.
  JsonWindow(ByteSource& source, std::size_t step, std::function<void(std::int64_t)> progress)
      : source_(source), step_(step), progress_(std::move(progress)) {}

  /// Returns the text that was read but not yet consumed. Valid until Fill().
  std::string_view text() const { return std::string_view(buffer_).substr(at_); }
  /// Returns the offset of text() in the decompressed file.
  std::int64_t offset() const { return offset_ + static_cast<std::int64_t>(at_); }
  std::int64_t file_bytes_read() const { return source_.file_bytes_read(); }
  void Advance(std::size_t bytes) { at_ += bytes; }
  /// Reads more of the file, if possible at least as many bytes as text() has. Returns false at the
  /// end, or if reading failed.
  bool Fill();
  /// Fails if the device failed or the expansion limit was exceeded.
  const Status& status() const { return status_; }

  /// Skips white space and commas. Returns the next character, or 0 at the end. A zero byte in the
  /// file, which JSON does not allow, is returned as '?'.
  char Next();
  /// Skips a value of any size. Returns false if the file ends inside it.
  bool SkipValue();

 private:
  ByteSource& source_;
  std::size_t step_;
  std::function<void(std::int64_t)> progress_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;
  bool ended_ = false;
  Status status_;
};

}  // namespace headroom::rocprof
