#include "base/gzip.h"

#include <isa-l/igzip_lib.h>

#include <cassert>
#include <cstdint>
#include <vector>

namespace headroom {

GzipStream::GzipStream()
    : scratch_(ISAL_DEF_LVL1_DEFAULT), stream_(std::make_unique<isal_zstream>()) {
  constexpr std::uint32_t kLevel = 1;
  isal_deflate_init(stream_.get());
  stream_->gzip_flag = IGZIP_GZIP;
  stream_->level = kLevel;
  stream_->level_buf = scratch_.data();
  stream_->level_buf_size = static_cast<std::uint32_t>(scratch_.size());
}

GzipStream::GzipStream(GzipStream&&) noexcept = default;
GzipStream& GzipStream::operator=(GzipStream&&) noexcept = default;
GzipStream::~GzipStream() = default;

std::string GzipStream::Add(std::string_view piece, bool last) {
  constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  // The library takes 32-bit lengths, and keeps no pointer to input that it has read.
  constexpr std::size_t kInputBytes = std::size_t{1} << 30;
  std::vector<std::uint8_t> block(kBlockBytes);
  std::string out;
  std::size_t taken = 0;
  do {
    const std::string_view input = piece.substr(taken, kInputBytes);
    taken += input.size();
    // The interface predates const; it only reads the input.
    stream_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));
    stream_->avail_in = static_cast<std::uint32_t>(input.size());
    stream_->end_of_stream = last && taken == piece.size() ? 1 : 0;
    do {
      stream_->next_out = block.data();
      stream_->avail_out = static_cast<std::uint32_t>(block.size());
      [[maybe_unused]] const int failed = isal_deflate(stream_.get());
      assert(failed == COMP_OK && "only wrong arguments can fail");
      out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream_->avail_out);
    } while (stream_->avail_out == 0);
  } while (taken < piece.size());
  return out;
}

std::string Gzip(std::string_view content) { return GzipStream().Add(content, /*last=*/true); }

}  // namespace headroom
