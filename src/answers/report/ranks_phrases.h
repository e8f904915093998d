// Names and sentences of the report about several ranks on one clock.
#pragma once

#include <string>
#include <string_view>

#include "ranks/job_ranks.h"

namespace headroom {

/// "recurrent", ...
std::string_view NameOf(StragglerPattern pattern);

/// "more-work", ...
std::string_view NameOf(LateCause cause);

/// "flops", "input_bytes"; empty: none.
std::string_view NameOf(WorkMeasure measure);

/// nullptr: no collective is of such a group.
const GroupAxis* FindAxis(const JobRanks& job, std::string_view group);

/// "data", or "data?" where that is inferred; empty: not told.
std::string AxisOf(const JobRanks& job, std::string_view group);

/// Returns who is late: "Rank 3", "Ranks 3, 5", "Ranks 0, 1, 2, 3 and 12 more".
std::string LateRanks(const JobRanks& job);

/// How even the stages are, and what waiting for each other takes; a sentence or two.
std::string PipelineVerdict(const Pipeline& pipeline);

/// Who holds the others up, what the job loses by it, and why; a few sentences.
std::string RanksVerdict(const JobRanks& job);

}  // namespace headroom
