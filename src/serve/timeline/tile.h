// Reduces the spans of some tracks in a time range to the level of detail that a drawing can show.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "serve/timeline/track_set.h"

namespace headroom {

/// Tiles of level L cover kTileBuckets buckets of 2^L ns; tile 0 begins where the tracks do.
inline constexpr std::int64_t kTileBuckets = 512;
inline constexpr int kMaxLevel = 48;  ///< 78 hours per bucket.

/// Columns by rectangle, grouped by lane and sorted by time. A span of at least one bucket has its
/// own rectangle. Shorter spans that begin in the same bucket share one.
struct Tile {
  std::vector<float> begin, end;  ///< In buckets from the tile's start; may extend beyond the tile.
  /// From 0 to 1: the share of the rectangle's length that its spans cover. For a counter: the
  /// position of its largest value between the track's minimum and maximum.
  std::vector<float> fill;
  std::vector<std::uint32_t> lane;
  std::vector<std::uint32_t>
      row;  ///< Row in the lane's table; for several spans, that of the longest.
  std::vector<std::uint32_t> name;   ///< Name number of that span (SpanTable::NameNumber).
  std::vector<std::uint32_t> style;  ///< Style of that span, with its name's hue in the third byte.
  std::vector<std::uint32_t> count;  ///< Number of spans.

  std::size_t size() const { return begin.size(); }
};

/// @param tracks  numbers of the requested tracks. REQUIRES: valid; 0 <= level <= kMaxLevel; index
/// >= 0
Tile MakeTile(const TrackSet& set, std::span<const std::uint32_t> tracks, int level,
              std::int64_t index);

}  // namespace headroom
