// Files that the tests of this folder read: data/ in the source tree, and the shared traces next to
// the source tree.
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace headroom {

/// Root of the source tree; ctest sets it.
inline std::filesystem::path SourceDir() {
  const char* dir = std::getenv("HEADROOM_SOURCE_DIR");
  return dir == nullptr ? "." : dir;
}

/// Folder with the shared traces, which may be missing: HEADROOM_DATA, or `shared` next to the
/// source tree.
inline std::filesystem::path SharedDataDir() {
  const char* dir = std::getenv("HEADROOM_DATA");
  return dir == nullptr ? SourceDir() / ".." / "shared" : std::filesystem::path(dir);
}

inline std::string ReadWholeFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string Gunzip(const std::string& packed) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::vector<char> in(packed.begin(), packed.end());
  state.next_in = reinterpret_cast<std::uint8_t*>(in.data());
  state.avail_in = static_cast<std::uint32_t>(in.size());
  std::string text;
  std::vector<std::uint8_t> chunk(1 << 20);
  do {
    state.next_out = chunk.data();
    state.avail_out = static_cast<std::uint32_t>(chunk.size());
    if (isal_inflate(&state) != ISAL_DECOMP_OK) break;
    text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size() - state.avail_out);
  } while (state.avail_out == 0 || state.avail_in > 0);
  return text;
}

}  // namespace headroom
