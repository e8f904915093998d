// Stamps of files, which show whether a file has changed.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// Identifies the state of a file.
struct FileStamp {
  std::int64_t modified_ns = 0, bytes = -1;
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

/// Returns the stamp of a file. Pipes and devices always have the same one: they can be read only
/// once, and their times do not show changes. A missing file has the stamp `FileStamp()`.
FileStamp StampOf(const std::string& file);

}  // namespace headroom
