// Whether two traces can be of one job, before and after a change.
#pragma once

#include <cstdint>
#include <optional>

#include "whatif/job/job.h"

namespace headroom {

/// How often autograd adds to the gradient of a parameter in a step (the middle one of all): once a
/// trained parameter and batch, whatever the types, kernels, optimizer or batch size. nullopt: no
/// step was recorded with such operators (an inference, a step under a CUDA graph, no CPU
/// activity).
std::optional<std::int64_t> GradientsAStep(const Job& job);

/// Whether such counts can be of one job: where both are known, one is a multiple of the other, as
/// several batches a step make it.
bool CanBeOneJob(std::optional<std::int64_t> before, std::optional<std::int64_t> after);

}  // namespace headroom
