// Gradients summed by parameter servers on machines of their own.
#pragma once

#include <cstdint>

#include "sim/edit.h"
#include "whatif/scenarios/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Each GPU pushes each of its gradients as soon as it is ready, in slices of 4 MB of which every
/// server sums its share, and pulls it back; what reads the gradients waits for all (Li et al.,
/// "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014). GPUs of a machine
/// do not sum among themselves first. The two directions of a link do not hold each other up; the
/// fuller link counts: a machine's, over which all its GPUs' slices pass, or a server's, with its
/// share of everybody's. Servers add as fast as data come, and are linked as a machine of GPUs is;
/// ranks update their parameters themselves.
///
/// @param servers  their number, 1 or more
Effect InsertServerExchange(const Job& job, const Exchange& exchange, std::int64_t servers,
                            Edit& edit);

}  // namespace headroom
