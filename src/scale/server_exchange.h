// Gradients summed by parameter servers on machines of their own.
#pragma once

#include <cstdint>

#include "sim/edit.h"
#include "whatif/network.h"
#include "whatif/scenario.h"

namespace headroom {

/// Each gradient is pushed as soon as it is ready, in slices of 4 MB of which every server sums its
/// share, and pulled back; what reads the gradients waits for all. The two directions of a link do
/// not hold each other up. The fullest link counts: a machine's, over which the slices of all its
/// GPUs pass, or a server's, with its share of everybody's (Jiang et al., "A Unified Architecture
/// for Accelerating Distributed DNN Training", OSDI 2020). Servers add as fast as data come, and
/// are linked as a machine of GPUs is; ranks update their parameters themselves.
///
/// @param servers  their number, 1 or more
Effect InsertServerExchange(const Job& job, const Exchange& exchange, std::int64_t servers,
                            Edit& edit);

}  // namespace headroom
