// Compares the unpacked size of a compressed file with the limit for the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"

namespace headroom {

/// Counts the bytes that one layer of compression unpacks. Each nested layer has a separate guard,
/// and all guards compare with the bytes of the file on disk.
class ExpansionGuard {
 public:
  ExpansionGuard(std::string path, ExpansionLimit limit) : path_(std::move(path)), limit_(limit) {}

  /// Fails with kBadInput if the layer has unpacked too much for the bytes read from the file.
  Status Add(std::size_t unpacked, std::int64_t file_bytes_read);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  ExpansionLimit limit_;
  std::int64_t unpacked_ = 0;
};

}  // namespace headroom
