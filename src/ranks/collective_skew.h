// What collectives of several ranks took, and what a rank waited in them for the last to come.
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

/// What a rank waited in its collectives, by start and end of each on its own clock, as in
/// RankCollective: rows of GPU tasks are others in a stretch of a trace.
using CollectiveWaits = std::map<std::pair<TimeNs, TimeNs>, DurationNs>;

struct CollectiveSkew {
  CollectiveWaits waits;                       ///< Of one rank.
  std::vector<MeasuredAllReduce> all_reduces;  ///< Of the whole job, waits left out.
};

/// Of the collectives that all ranks leave together, of those ranks that are on one clock with
/// `rank`: it waits from its own start to the last one's, for all that it takes at most. An
/// all-reduce takes what is left until its median end; left out where that is no more than two
/// clocks are uncertain by, and where its group has fewer ranks than `members`.
///
/// @param rank     index of its timeline
/// @param members  ranks of the job
CollectiveSkew MeasureSkew(std::span<const RankTimeline> ranks, const Alignment& alignment,
                           std::size_t rank, std::int64_t members);

}  // namespace headroom
