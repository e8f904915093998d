// Names of communicators, where one stands for several.
#pragma once

#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// Frameworks may call all groups of an axis alike ("tp"). A name of which ranks recorded different
/// members gets these behind it ("tp [0, 1]"), in their groups and collectives, so that each is
/// compared with its own; what was recorded without members keeps its name.
void TellGroupsApart(std::vector<RankTimeline>& ranks);

}  // namespace headroom
