// A file as a stream of decompressed bytes: plain, gzip, zstd, xz, bzip2, or the only file of a
// .tar or .zip. The first bytes decide the kind; up to four layers may be nested.
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

  /// Fills `out` from its start. Fewer bytes than requested, or none, mean the end, including
  /// damage: see damage(). Fails if the device fails or the expansion limit is exceeded.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;

  /// Returns why the stream ended early ("the gzip stream is truncated", ...), or an empty string.
  virtual std::string_view damage() const { return {}; }
  /// Returns true if the bytes after a complete compressed stream are neither zeros nor another
  /// stream. These bytes are not read. Valid only at the end of the stream.
  virtual bool has_trailing_bytes() const { return false; }
  /// Returns the number of bytes read from the file so far, for progress.
  virtual std::int64_t file_bytes_read() const = 0;
  /// Returns the size of the file on disk; 0 for a pipe.
  virtual std::int64_t file_bytes() const = 0;
};

/// Opens a regular file (or a pipe) and chooses the decompressors. Fails for directories, empty
/// files and archives of several files. Throws std::bad_alloc, as Read() may.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ExpansionLimit limit);

}  // namespace headroom
