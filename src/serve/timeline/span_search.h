// Finds spans by a part of their name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "serve/timeline/track_set.h"

namespace headroom {

struct SpanHit {
  std::uint32_t lane = 0, row = 0;
};

struct SearchResult {
  std::int64_t count = 0;            ///< All hits.
  DurationNs total;                  ///< Sum of the lengths; nested hits count repeatedly.
  std::vector<SpanHit> hits;         ///< The first hits, in order of start.
  std::vector<std::uint32_t> names;  ///< Numbers of all names that contain the text.
};

/// Ignores case (ASCII). Searches only spans that a track shows. O(names + spans).
///
/// @param text  part of a name, not empty; in double quotes: the whole name
/// @param most  limit for the listed hits
SearchResult FindSpans(const TrackSet& set, std::string_view text, std::size_t most);

/// Returns the span that starts at `start`: the one of the given length, else the longest. Ignores
/// the critical path, which repeats spans of other tracks. O(lanes x log spans).
std::optional<SpanHit> SpanAt(const TrackSet& set, TimeNs start,
                              std::optional<DurationNs> duration);

}  // namespace headroom
