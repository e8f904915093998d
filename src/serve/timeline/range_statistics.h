// Statistics of a time range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "serve/timeline/track_set.h"

namespace headroom {

/// Spans of one name, clipped to the range.
struct NameTotal {
  std::string_view name;
  std::uint32_t style = 0;
  std::int64_t count = 0;
  DurationNs total;  ///< On threads: includes nested spans.
};

struct RangeStatistics {
  struct StreamTime {
    std::uint32_t track = 0;
    DurationNs busy = {}, idle_for_host = {}, idle_for_others = {}, idle_unknown = {};
    DurationNs idle_others_work = {};  ///< Idle time while another stream of the device works.
  };
  std::vector<StreamTime> streams;
  std::vector<NameTotal> gpu, host;  ///< Sorted by total, longest first.
};

/// Sums over [from, to). Excludes counters, the critical path, and GPU ranges that repeat those of
/// threads.
RangeStatistics SumRange(const TrackSet& set, TimeNs from, TimeNs to);

}  // namespace headroom
