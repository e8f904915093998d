// Whether the GPU has the memory that a change adds.
#pragma once

#include <cstdint>
#include <string>

#include "whatif/job.h"

namespace headroom {

/// That the most that was recorded as allocated, and `delta_bytes` more, are beyond the memory of a
/// GPU that the job uses; of a trace without memory records (profile_memory=True), that
/// `delta_bytes` alone are. Empty: they are not, or nobody knows how much memory the GPU has.
std::string WhyNoRoom(const Job& job, std::int64_t delta_bytes);

}  // namespace headroom
