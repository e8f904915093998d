// Whether the GPU has the memory that a change adds.
#pragma once

#include <string>

#include "whatif/job/job.h"
#include "whatif/memory/memory_deltas.h"

namespace headroom {

/// That the most that was recorded as allocated, and what the change adds, are beyond the memory of
/// a GPU that the job uses; of a trace without memory records (profile_memory=True), that the
/// model's peak is or, where there is none, what is added alone. Empty: they are not, or nobody
/// knows how much memory the GPU has.
std::string WhyNoRoom(const Job& job, const MemoryDelta& delta);

}  // namespace headroom
