// Exchanging gradients: what the scenarios of communication share. They build on each other in the
// catalogue's order: `data-parallel` puts all-reduces on the channel "network"; those behind it
// change what it finds there, or put them there first.
#pragma once

#include <string_view>
#include <vector>

#include "sim/edit.h"
#include "whatif/gradients.h"
#include "whatif/scenario.h"

namespace headroom {

inline constexpr std::string_view kNetwork = "network";

/// Half-width of the times of communication, as a share: NCCL's calls took 34 % longer than bytes /
/// bandwidth on average beside compute kernels (Zhu et al., "Daydream", USENIX ATC 2020).
inline constexpr double kNetworkError = 0.34;

/// Time that bytes take on a channel, without its latency.
DurationNs TransferTime(double bytes, const Channel& channel);

/// Of the ring: 2 (n - 1) / n of the bytes pass each link, in 2 (n - 1) messages behind each other
/// (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009). No time for one
/// member.
Edit::ChannelTask RingAllReduce(double bytes, const Channel& channel);

/// The channel of the exchange, with bucketed all-reduces on it if there was none (as
/// DistributedDataParallel makes them). `arguments` need the keys gpus, bandwidth-gbps and
/// latency-us; they hold only if there was none. Where it cannot be told, the effect abstains.
Effect MakeExchange(const Job& job, const Arguments& arguments, double bucket_bytes, Edit& edit);

inline constexpr double kBucketBytes = 25.0 * 1024 * 1024;

}  // namespace headroom
