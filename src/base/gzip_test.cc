#include "base/gzip.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

namespace headroom {
namespace gzip_test {

/// Returns the inflated text of one whole member after checking its CRC; "failed" for invalid
/// input.
std::string Inflated(std::string packed, std::size_t size) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = reinterpret_cast<std::uint8_t*>(packed.data());
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  std::string out(size + 1, '\0');
  state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  state.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_inflate(&state) != ISAL_DECOMP_OK || state.block_state != ISAL_BLOCK_FINISH)
    return "failed";
  out.resize(out.size() - state.avail_out);
  return out;
}

RC_GTEST_PROP(GzipProperty, InflatesToWhatItWas, (const std::string& text)) {
  RC_ASSERT(Inflated(Gzip(text), text.size()) == text);
}

TEST(GzipTest, LongTextTakesSeveralBlocks) {
  std::string text;
  std::uint32_t random = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    random = random * 1664525 + 1013904223;
    text += static_cast<char>(random >> 24);
  }
  EXPECT_EQ(Inflated(Gzip(text), text.size()), text);
  EXPECT_LT(Gzip(std::string(1'000'000, 'a')).size(), 20'000u);
}

}  // namespace gzip_test
}  // namespace headroom
