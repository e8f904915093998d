// The part of a JSON file that is being read, as a text that moves along the file.
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
  /// `step`: bytes that are read at once at least, from 1 up; the result does not depend on it.
  /// `progress`: called with the bytes taken from the file; may be empty.
  JsonWindow(ByteSource& source, std::size_t step, std::function<void(std::int64_t)> progress)
      : source_(source), step_(step), progress_(std::move(progress)) {}

  /// What has been read and not been passed. Valid until Fill().
  std::string_view text() const { return std::string_view(buffer_).substr(at_); }
  /// Of text() in the decompressed file.
  std::int64_t offset() const { return offset_ + static_cast<std::int64_t>(at_); }
  std::int64_t file_bytes_read() const { return source_.file_bytes_read(); }
  void Advance(std::size_t bytes) { at_ += bytes; }
  /// Reads on; at least as much again as there is. False at the end, and where reading failed.
  bool Fill();
  /// Whether the device failed, or the expansion limit was passed.
  const Status& status() const { return status_; }

  /// Passes over white space and commas. The next character, 0 at the end; a byte of 0 in the file,
  /// which no JSON holds, is given as '?'.
  char Next();
  /// Passes over a value of any size. False where the file ends in it.
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
