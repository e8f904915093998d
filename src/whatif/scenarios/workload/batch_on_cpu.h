// Another batch size for a job whose operators run on the CPU.
#pragma once

#include <optional>

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Scales the operators on activations from `batch` to `samples` samples per step. Returns nullopt
/// if no operator of the forward or the backward was recorded.
std::optional<Effect> BatchSizeOnCpu(const Job& job, double batch, double samples, Edit& edit);

}  // namespace headroom
