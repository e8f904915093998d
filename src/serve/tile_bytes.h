// A tile of the timeline as the page reads it.
#pragma once

#include <cstddef>
#include <string>

#include "serve/timeline/tile.h"

namespace headroom {

/// Little endian: the u32 numbers 1 (format), rectangles, bytes of names, 0; the tile's columns in
/// their order, 4 bytes a value; then JSON, an object of texts by number of name: those of
/// rectangles wide enough for one.
std::string EncodeTile(const Tile& tile, const TrackSet& set);

/// Kernels' signatures are shortened; no more than kLongestLabel bytes.
std::string LabelOf(std::string_view name, std::uint32_t style);

inline constexpr std::size_t kLongestLabel = 160;

}  // namespace headroom
