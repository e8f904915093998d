// Checks if the GPU has the memory that a change adds.
#pragma once

#include <string>

#include "whatif/job/job.h"
#include "whatif/memory/memory_deltas.h"

namespace headroom {

/// Returns the reason why the change does not fit the GPU's memory; empty if it fits or if the
/// GPU's memory is unknown. Adds the change to the largest recorded allocation. If the trace has no
/// memory records (PyTorch: profile_memory=True), uses the modelled peak, or only the added bytes
/// if there is no model.
std::string WhyNoRoom(const Job& job, const MemoryDelta& delta);

}  // namespace headroom
