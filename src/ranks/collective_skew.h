// Measures how long one rank waits for the last rank in each collective, and how long all-reduces
// take without such waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "network/network_fit.h"
#include "ranks/rank_alignment.h"

namespace headroom {

/// Time that a rank waits in each of its collectives. The key is the collective's start and end on
/// the rank's own clock, as in RankCollective. Rows of GPU tasks cannot be the key, because a slice
/// of a trace numbers them differently.
using CollectiveWaits = std::map<std::pair<TimeNs, TimeNs>, DurationNs>;

struct CollectiveSkew {
  CollectiveWaits waits;                       ///< Waits of one rank.
  std::vector<MeasuredAllReduce> all_reduces;  ///< All-reduces of the whole job, without waits.
};

/// Uses collectives that all ranks leave together, and the ranks whose clocks are aligned with that
/// of `rank`. A rank waits from its own start to the last rank's start, and never longer than its
/// collective takes. An all-reduce takes the time from the last start to the median end. Leaves out
/// an all-reduce if that time is at most twice the clocks' uncertainty, or if its group has fewer
/// ranks than `members`.
///
/// @param rank     index of the rank's timeline
/// @param members  number of ranks of the job
CollectiveSkew MeasureSkew(std::span<const RankTimeline> ranks, const Alignment& alignment,
                           std::size_t rank, std::int64_t members);

}  // namespace headroom
