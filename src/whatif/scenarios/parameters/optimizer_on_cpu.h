// A fused update for a job whose operators run on the CPU.
#pragma once

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// @param fused  false: lists of parameters (foreach)
Effect FuseOptimizerOnCpu(const Job& job, bool fused, Edit& edit);

}  // namespace headroom
