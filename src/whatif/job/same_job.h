// Checks if two traces can come from one job, before and after a change.
#pragma once

#include <cstdint>
#include <optional>

#include "whatif/job/job.h"

namespace headroom {

/// Returns how often autograd accumulates a parameter's gradient in a step (median over the steps).
/// This happens once per trained parameter and batch, regardless of types, kernels, optimizer and
/// batch size. Returns nullopt if no step has such operators: inference, a step in a CUDA graph, or
/// a trace without CPU activity.
std::optional<std::int64_t> GradientsAStep(const Job& job);

/// Returns true if two such counts can come from one job. If both are known, one must be a multiple
/// of the other, because a step may have several batches.
bool CanBeOneJob(std::optional<std::int64_t> before, std::optional<std::int64_t> after);

}  // namespace headroom
