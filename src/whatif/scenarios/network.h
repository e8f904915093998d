// Exchanging gradients: what the scenarios of communication share. They build on each other in the
// catalogue's order: `data-parallel` puts all-reduces on the channel "network"; those behind it
// change what it finds there, or put them there first.
#pragma once

#include <string_view>
#include <vector>

#include "network/gradient_exchange.h"
#include "network/topology.h"
#include "sim/edit.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

inline constexpr std::string_view kNetwork = "network";

/// Half-width of the times of communication, as a share: NCCL's calls took 34 % longer than bytes /
/// bandwidth on average beside compute kernels (Zhu et al., "Daydream", USENIX ATC 2020).
inline constexpr double kNetworkError = 0.34;

/// Whether the recorded job runs any collective.
bool Communicates(const Job& job);

/// Time that bytes take on a channel, without its latency.
DurationNs TransferTime(double bytes, const Channel& channel);

/// How the GPUs of a job exchange what they have in common.
struct Exchange {
  Topology topology;
  Placement placement;
  double bucket_bytes = kBucketBytes;
  /// By task of the graph: what a GPU has of the gradient of which this is Gradient::forward.
  /// nullptr: all of each.
  const std::vector<double>* gradient_shares = nullptr;
};

/// A job's gradients, and the channel on which they are to be exchanged, still empty.
struct OpenedExchange {
  Effect effect;  ///< Abstains where it cannot be told; all else is void then.
  std::vector<GradientStep> steps;
  std::uint32_t channel = 0;
};

/// REQUIRES: there is no such channel yet.
OpenedExchange OpenExchange(const Job& job, const Exchange& exchange, Edit& edit);

/// What the reducer launches for each gradient: a scaled copy into the bucket behind it, and one
/// back in front of what reads the gradients. Gradients whose launches are not known have none.
void InsertBucketCopies(const Job& job, const GradientStep& step, Edit& edit);

/// A kernel that reads so many bytes and writes them elsewhere; on a GPU whose bandwidth is not
/// known, one of no work.
DurationNs CopyTime(const Job& job, double bytes);

/// The channel of the exchange, with bucketed all-reduces on it (as DistributedDataParallel makes
/// them). Where it cannot be told, the effect abstains. REQUIRES: there is none yet.
Effect InsertExchange(const Job& job, const Exchange& exchange, Edit& edit);

/// The same, if there was none, one GPU a machine. `arguments` need the keys gpus, bandwidth-gbps
/// and latency-us; they hold only if there was none.
Effect MakeExchange(const Job& job, const Arguments& arguments, double bucket_bytes, Edit& edit);

/// A ring of a channel's members, for schedules that send what they make of the gradients.
Edit::ChannelTask RingAllReduce(double bytes, const Channel& channel);

}  // namespace headroom
