// Packets that are compressed within a packet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::perfetto {

/// Decompresses a zlib stream, or a zstd frame, to `out`. False where it is damaged or gives more
/// than `max_bytes`; `out` then holds what came before.
bool InflateZlib(std::string_view compressed, std::size_t max_bytes, std::string& out);
bool InflateZstd(std::string_view compressed, std::size_t max_bytes, std::string& out);

}  // namespace headroom::perfetto
