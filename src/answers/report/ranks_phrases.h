// Names and sentences of the report about several ranks on one clock.
#pragma once

#include <string>
#include <string_view>

#include "ranks/job_ranks.h"

namespace headroom {

/// Returns "recurrent" or another pattern.
std::string_view NameOf(StragglerPattern pattern);

/// Returns "more-work" or another cause.
std::string_view NameOf(LateCause cause);

/// Returns "flops" or "input_bytes"; empty for no measure.
std::string_view NameOf(WorkMeasure measure);

/// Returns nullptr if no collective has such a group.
const GroupAxis* FindAxis(const JobRanks& job, std::string_view group);

/// Returns "data", or "data?" if it is inferred; empty if unknown.
std::string AxisOf(const JobRanks& job, std::string_view group);

/// Returns the late ranks: "Rank 3", "Ranks 3, 5", "Ranks 0, 1, 2, 3 and 12 more".
std::string LateRanks(const JobRanks& job);

/// Returns one or two sentences: how even the stages are, and how long they wait for each other.
std::string PipelineVerdict(const Pipeline& pipeline);

/// Returns a few sentences: which rank delays the others, what the job loses, and why.
std::string RanksVerdict(const JobRanks& job);

}  // namespace headroom
