// Limits the cost of a file, regardless of nesting: unpacked bytes, events, and bytes of output.
//
// Compares all of them with the bytes on disk. Real traces unpack to 11 to 29 times these bytes and
// have at most 0.14 events per byte. Their output has at most 24 times as many bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace headroom {

struct ExpansionLimit {
  /// Unpacked bytes per byte on disk. A deflate bomb reaches 1032, a zstd bomb far more.
  std::int64_t max_ratio = 200;
  /// Unpacked bytes allowed for any file, even a very small one.
  static constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;
  /// Events allowed for any file.
  static constexpr std::int64_t kFreeEvents = std::int64_t{1} << 19;
  /// Maximum memory of an event in bytes.
  static constexpr std::int64_t kBytesOfEvent = 100;

  std::int64_t BytesOf(std::int64_t file_bytes) const {
    return Scaled(file_bytes, max_ratio, kFreeBytes);
  }
  std::int64_t EventsOf(std::int64_t file_bytes) const {
    return Scaled(file_bytes, std::max<std::int64_t>(1, max_ratio / kBytesOfEvent), kFreeEvents);
  }

  /// Fails with kBadInput if `bytes` unpacked bytes are too many for the bytes read from the file.
  Status CheckUnpacked(const std::string& path, std::int64_t bytes, std::int64_t file_bytes) const;
  Status CheckEvents(const std::string& path, std::int64_t events, std::int64_t file_bytes) const;
  /// Checks the bytes of an output file in the same way.
  Status CheckWritten(const std::string& path, std::int64_t bytes, std::int64_t file_bytes) const;

 private:
  static std::int64_t Scaled(std::int64_t bytes, std::int64_t factor, std::int64_t free) {
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(bytes, factor, &scaled)) return INT64_MAX;
    return std::max(scaled, free);
  }
};

}  // namespace headroom
