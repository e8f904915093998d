// Gradients summed by parameter servers on separate machines.
#pragma once

#include <cstdint>

#include "sim/edit.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Each GPU pushes a gradient once it is ready, in slices of 4 MB. Every server sums its share, and
/// the GPU pulls the result. The reader of the gradients waits for all pulls (Li et al., "Scaling
/// Distributed Machine Learning with the Parameter Server", OSDI 2014). GPUs of a machine do not
/// sum locally first. The two directions of a link are independent. The busier of two links
/// determines the time. A machine's link carries the slices of all its GPUs. A server's link
/// carries the server's share of all slices. Servers add as fast as data arrive and have the same
/// link as a machine of GPUs. Ranks update their own parameters.
///
/// @param servers  number of servers, at least 1
Effect InsertServerExchange(const Job& job, const Exchange& exchange, std::int64_t servers,
                            Edit& edit);

}  // namespace headroom
