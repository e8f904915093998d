#include "base/gzip.h"

#include <isa-l/igzip_lib.h>

#include <cassert>
#include <cstdint>
#include <vector>

namespace headroom {

std::string Gzip(std::string_view content) {
  constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  // The library takes 32 bits of length at a time, and keeps no pointer to what it has read.
  constexpr std::size_t kInputBytes = std::size_t{1} << 30;
  constexpr std::uint32_t kLevel = 1;
  std::vector<std::uint8_t> scratch(ISAL_DEF_LVL1_DEFAULT);
  std::vector<std::uint8_t> block(kBlockBytes);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.level = kLevel;
  stream.level_buf = scratch.data();
  stream.level_buf_size = static_cast<std::uint32_t>(scratch.size());
  std::string out;
  std::size_t taken = 0;
  do {
    const std::string_view input = content.substr(taken, kInputBytes);
    taken += input.size();
    // The interface predates const; input is only read.
    stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));
    stream.avail_in = static_cast<std::uint32_t>(input.size());
    stream.end_of_stream = taken == content.size() ? 1 : 0;
    do {
      stream.next_out = block.data();
      stream.avail_out = static_cast<std::uint32_t>(block.size());
      [[maybe_unused]] const int failed = isal_deflate(&stream);
      assert(failed == COMP_OK && "only wrong arguments fail");
      out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (taken < content.size());
  return out;
}

}  // namespace headroom
