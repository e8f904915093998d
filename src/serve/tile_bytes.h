// Encodes a tile of the timeline for the page.
#pragma once

#include <cstddef>
#include <string>

#include "serve/timeline/tile.h"

namespace headroom {

/// Returns little-endian data. It starts with four u32 numbers: the format (1), the number of
/// rectangles, the bytes of the JSON object, and 0. The tile's columns follow in order, with 4
/// bytes per value. The JSON object at the end maps name numbers to labels, for rectangles wide
/// enough to show a label.
std::string EncodeTile(const Tile& tile, const TrackSet& set);

/// Shortens kernel signatures; at most kLongestLabel bytes.
std::string LabelOf(std::string_view name, std::uint32_t style);

inline constexpr std::size_t kLongestLabel = 160;

}  // namespace headroom
