// Level of detail: the spans of some tracks in one stretch of time, no finer than a drawing shows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "serve/timeline/track_set.h"

namespace headroom {

/// Tiles of level L cover kTileBuckets buckets of 2^L ns; tile 0 begins where the tracks do.
inline constexpr std::int64_t kTileBuckets = 512;
inline constexpr int kMaxLevel = 48;  ///< 78 hours a bucket.

/// Columns by rectangle, of one lane after the other, each in order of time. Spans of at least a
/// bucket stand for themselves; shorter ones that begin in the same bucket are one rectangle.
struct Tile {
  std::vector<float> begin, end;  ///< In buckets from the tile's begin; may reach beyond the tile.
  /// From 0 to 1: of the rectangle's length, its spans'; of a counter, where its largest value
  /// lies between the track's minimum and maximum.
  std::vector<float> fill;
  std::vector<std::uint32_t> lane;
  std::vector<std::uint32_t> row;    ///< Of the lane's table; of several, the longest span's.
  std::vector<std::uint32_t> name;   ///< Number of that span's name (SpanTable::NameNumber).
  std::vector<std::uint32_t> style;  ///< That span's; its name's hue in the third byte.
  std::vector<std::uint32_t> count;  ///< Spans in it.

  std::size_t size() const { return begin.size(); }
};

/// @param tracks  numbers of those wanted. REQUIRES: valid; 0 <= level <= kMaxLevel; index >= 0
Tile MakeTile(const TrackSet& set, std::span<const std::uint32_t> tracks, int level,
              std::int64_t index);

}  // namespace headroom
