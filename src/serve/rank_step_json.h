// Writes one step of all ranks on one clock, for the page to draw.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// Returns headroom.rank-step/1 (docs/ui.md). Times are in ns from the start of the earliest rank.
/// Ranks whose clock is not aligned with that of most ranks begin at 0. Fails (kUsage) if no rank
/// has the step.
Result<std::string> RenderRankStepJson(const JobRanks& job, std::int64_t step);

}  // namespace headroom
