// Decompresses packets inside a packet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::perfetto {

/// Decompresses a zlib stream or a zstd frame to `out`. Returns false if the input is damaged or
/// the output would exceed `max_bytes`; `out` then holds the output so far.
bool InflateZlib(std::string_view compressed, std::size_t max_bytes, std::string& out);
bool InflateZstd(std::string_view compressed, std::size_t max_bytes, std::string& out);

}  // namespace headroom::perfetto
