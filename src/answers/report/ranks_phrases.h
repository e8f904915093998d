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

/// Returns "flops" or "input_bytes"; empty without a measure.
std::string_view NameOf(WorkMeasure measure);

/// Returns the axis of a process group; nullptr if no collective ran in the group.
const GroupAxis* FindAxis(const JobRanks& job, std::string_view group);

/// Returns the parallelism of a process group: "data", or "data?" if inferred; empty if unknown.
std::string AxisOf(const JobRanks& job, std::string_view group);

/// Returns the late ranks: "Rank 3", "Ranks 3, 5", "Ranks 0, 1, 2, 3 and 12 more".
std::string LateRanks(const JobRanks& job);

/// Returns one or two sentences: how long the stages wait for each other, and how balanced they
/// are.
std::string PipelineVerdict(const Pipeline& pipeline);

/// Returns a few sentences: which rank delays the others, what the job loses, and why.
std::string RanksVerdict(const JobRanks& job);

}  // namespace headroom
