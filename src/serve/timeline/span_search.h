// Spans by a part of their name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "serve/timeline/track_set.h"

namespace headroom {

struct SpanHit {
  std::uint32_t lane = 0, row = 0;
};

struct SearchResult {
  std::int64_t count = 0;            ///< All of them.
  DurationNs total;                  ///< Their lengths, those inside others counted again.
  std::vector<SpanHit> hits;         ///< The first of them, in order of start.
  std::vector<std::uint32_t> names;  ///< Numbers of all names that hold the text.
};

/// Letters of either case are alike (ASCII). What no track shows is not found. O(names + spans).
///
/// @param text  not empty
/// @param most  hits that are listed
SearchResult FindSpans(const TrackSet& set, std::string_view text, std::size_t most);

}  // namespace headroom
