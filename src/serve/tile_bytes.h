// Encodes a tile of the timeline for the page.
#pragma once

#include <cstddef>
#include <string>

#include "serve/timeline/tile.h"

namespace headroom {

/// Little endian: the u32 numbers 1 (format), rectangles, bytes of names, 0. Then the tile's
/// columns in order, 4 bytes per value. Then a JSON object of labels by name number, for rectangles
/// wide enough to show a label.
std::string EncodeTile(const Tile& tile, const TrackSet& set);

/// Shortens kernel signatures; at most kLongestLabel bytes.
std::string LabelOf(std::string_view name, std::uint32_t style);

inline constexpr std::size_t kLongestLabel = 160;

}  // namespace headroom
