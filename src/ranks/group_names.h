// Unique names for process groups that share a recorded name.
#pragma once

#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// Frameworks may give all groups of an axis the same name ("tp"). Appends the members ("tp [0,
/// 1]") to a name for which ranks recorded different members. Renames both the groups and their
/// collectives, so that each collective is compared only within its group. A group without recorded
/// members keeps its name.
void TellGroupsApart(std::vector<RankTimeline>& ranks);

}  // namespace headroom
