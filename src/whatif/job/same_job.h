// Checks if two traces can be of one job, before and after a change.
#pragma once

#include <cstdint>
#include <optional>

#include "whatif/job/job.h"

namespace headroom {

/// Returns how often autograd accumulates a parameter's gradient in a step (median of the steps).
/// That is once per trained parameter and batch, for any types, kernels, optimizer or batch size.
/// Returns nullopt if no step has such operators: inference, a step under a CUDA graph, no CPU
/// activity.
std::optional<std::int64_t> GradientsAStep(const Job& job);

/// Returns true if such counts can be of one job. If both are known, one must be a multiple of the
/// other, because a step may have several batches.
bool CanBeOneJob(std::optional<std::int64_t> before, std::optional<std::int64_t> after);

}  // namespace headroom
