// A file as a stream of decompressed bytes: plain, gzip, zstd, xz, bzip2, or the only file of a
// .tar or .zip, told by its first bytes, in up to four layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/expansion_limit.h"

namespace headroom {

/// A stream of bytes with one reader. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills `out` from its start. Fewer bytes than asked for, or none, means the end (damage
  /// included: see damage()). A Status means the device failed or the expansion limit was passed.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;

  /// Why the stream ended early, or empty: "the gzip stream is cut", ...
  virtual std::string_view damage() const { return {}; }
  /// Whether bytes follow a whole compressed stream that are neither zeros nor another stream; they
  /// are not read. Known at the end.
  virtual bool has_trailing_bytes() const { return false; }
  /// Bytes taken from the file so far; for progress.
  virtual std::int64_t file_bytes_read() const = 0;
  /// Of the file on disk; 0 for a pipe.
  virtual std::int64_t file_bytes() const = 0;
};

/// Opens a regular file (or a pipe) and chooses the decompressors. Refuses directories, empty files
/// and archives of several files. Throws std::bad_alloc, as Read() may.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ExpansionLimit limit);

}  // namespace headroom
