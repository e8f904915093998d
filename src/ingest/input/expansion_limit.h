// Limits what a file can cost, whatever is nested in it: unpacked bytes, events, and bytes of
// output.
//
// All are compared with the bytes on disk. Real traces unpack to 11 to 29 times these bytes, have
// at most 0.14 events per byte, and give at most 24 times as many bytes of output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace headroom {

struct ExpansionLimit {
  /// Bytes for each byte on disk. A deflate bomb reaches 1032, a zstd bomb far more.
  std::int64_t max_ratio = 200;
  /// Bytes of any file, however small.
  static constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;
  /// Events of any file.
  static constexpr std::int64_t kFreeEvents = std::int64_t{1} << 19;
  /// An event takes at most as much memory as so many bytes.
  static constexpr std::int64_t kBytesOfEvent = 100;

  std::int64_t BytesOf(std::int64_t file_bytes) const {
    return Scaled(file_bytes, max_ratio, kFreeBytes);
  }
  std::int64_t EventsOf(std::int64_t file_bytes) const {
    return Scaled(file_bytes, std::max<std::int64_t>(1, max_ratio / kBytesOfEvent), kFreeEvents);
  }

  /// Fails with kBadInput if so many unpacked bytes are too many for what was read of the file.
  Status CheckUnpacked(const std::string& path, std::int64_t bytes, std::int64_t file_bytes) const;
  Status CheckEvents(const std::string& path, std::int64_t events, std::int64_t file_bytes) const;
  /// The same for the bytes of a file that is to be written of it.
  Status CheckWritten(const std::string& path, std::int64_t bytes, std::int64_t file_bytes) const;

 private:
  static std::int64_t Scaled(std::int64_t bytes, std::int64_t factor, std::int64_t free) {
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(bytes, factor, &scaled)) return INT64_MAX;
    return std::max(scaled, free);
  }
};

}  // namespace headroom
