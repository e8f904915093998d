// Files that the tests of this folder read: data/ of the source tree, and the traces that live
// beside it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace headroom {

/// Root of the source tree; ctest sets it.
inline std::filesystem::path SourceDir() {
  const char* dir = std::getenv("HEADROOM_SOURCE_DIR");
  return dir == nullptr ? "." : dir;
}

/// Folder with the shared traces, which may be missing: HEADROOM_DATA, else `shared` beside the
/// source tree.
inline std::filesystem::path SharedDataDir() {
  const char* dir = std::getenv("HEADROOM_DATA");
  return dir == nullptr ? SourceDir() / ".." / "shared" : std::filesystem::path(dir);
}

inline std::string ReadWholeFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace headroom
