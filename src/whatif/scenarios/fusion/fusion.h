// Chains of memory-bound kernels that a compiler makes one kernel.
#pragma once

#include <cstdint>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// Replaces chains of kernels with one kernel each, and returns the number of chains. The kernels
/// of a chain follow each other on a stream and have equal sizes. Intermediate results never reach
/// memory. The launches and host work of all but the first kernel are removed. Copies, elementwise
/// kernels and random numbers form chains.
///
/// @param reductions  true if a chain may also have one normalization, softmax, loss or sum
std::int64_t FuseChains(const Job& job, bool reductions, Edit& edit);

}  // namespace headroom
