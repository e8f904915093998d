#include "ingest/perfetto/inflate.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace headroom::perfetto {
namespace {

/// Adds space for the next piece of output and returns its size; 0 at the limit.
std::size_t Grow(std::string& out, std::size_t max_bytes) {
  constexpr std::size_t kFirst = std::size_t{64} << 10;
  const std::size_t more = std::min(std::max(kFirst, out.size()), max_bytes - out.size());
  out.resize(out.size() + more);
  return more;
}

}  // namespace

bool InflateZlib(std::string_view compressed, std::size_t max_bytes, std::string& out) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_ZLIB;
  // ISA-L does not write to its input.
  state->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(compressed.data()));
  state->avail_in = static_cast<std::uint32_t>(compressed.size());
  out.clear();
  for (;;) {
    const std::size_t used = out.size();
    const std::size_t room = Grow(out, max_bytes);
    state->next_out = reinterpret_cast<std::uint8_t*>(out.data() + used);
    state->avail_out = static_cast<std::uint32_t>(room);
    const int error = isal_inflate(state.get());
    out.resize(out.size() - state->avail_out);
    if (state->block_state == ISAL_BLOCK_FINISH) return error == ISAL_DECOMP_OK;
    // The stream is damaged, truncated or over the limit.
    if (error != ISAL_DECOMP_OK || out.size() == used) return false;
  }
}

bool InflateZstd(std::string_view compressed, std::size_t max_bytes, std::string& out) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  ZSTD_inBuffer in = {compressed.data(), compressed.size(), 0};
  out.clear();
  for (;;) {
    const std::size_t used = out.size();
    const std::size_t room = Grow(out, max_bytes);
    ZSTD_outBuffer to = {out.data() + used, room, 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &to, &in);
    out.resize(used + to.pos);
    if (ZSTD_isError(left) != 0) return false;
    if (left == 0 && in.pos == in.size) return true;
    if (to.pos == 0) return false;
  }
}

}  // namespace headroom::perfetto
