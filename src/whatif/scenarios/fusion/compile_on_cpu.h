// compile of a job on the CPU.
#pragma once

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Applies torch.compile to the operators of the forward and the backward. REQUIRES: the job has no
/// GPU work.
Effect CompileOnCpu(const Job& job, Edit& edit);

}  // namespace headroom
