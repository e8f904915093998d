// Exchange of gradients: shared parts of the communication scenarios, which build on each other in
// catalogue order. `data-parallel` puts all-reduces on the channel "network". Later scenarios
// change these all-reduces, or first add them.
#pragma once

#include <string_view>
#include <vector>

#include "network/gradient_exchange.h"
#include "network/topology.h"
#include "sim/edit.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

inline constexpr std::string_view kNetwork = "network";

/// Half-width of communication times, as a share. NCCL's calls took 34 % longer than bytes /
/// bandwidth on average during compute kernels (Zhu et al., "Daydream", USENIX ATC 2020).
inline constexpr double kNetworkError = 0.34;

/// Returns true if the recorded job runs any collective.
bool Communicates(const Job& job);

/// Returns the gradients of FindGradients(), without those of parameters that an earlier scenario
/// froze. Gradients of adapters take the place of their layer's.
std::vector<GradientStep> ExchangedGradients(const Job& job, const Edit& edit);

/// Returns the time of a transfer on a channel, without its latency.
DurationNs TransferTime(double bytes, const Channel& channel);

/// Setup of the gradient exchange between the GPUs of a job.
struct Exchange {
  Topology topology;
  Placement placement;
  GradientTransfer transfer = {};
  /// Share of a gradient on one GPU, by the task in Gradient::forward; nullptr if each GPU has the
  /// whole gradient.
  const std::vector<double>* gradient_shares = nullptr;
};

/// A job's gradients, and the still empty channel for their exchange.
struct OpenedExchange {
  Effect effect;  ///< Abstains if the exchange is unknown; all other members are then void.
  std::vector<GradientStep> steps;
  std::uint32_t channel = 0;
};

/// Finds the gradients and adds the channel. REQUIRES: the edit has no network channel yet.
OpenedExchange OpenExchange(const Job& job, const Exchange& exchange, Edit& edit);

/// Host time of the call that starts a bucket's all-reduce, in operators that launch one kernel:
/// 4.4 and 7.6 in two public recordings of DistributedDataParallel (docs/scale.md).
inline constexpr double kOperatorsPerBucketCall = 6;

/// Inserts the reducer's kernels: a scaled copy into the bucket after each gradient, and one copy
/// back before the gradients' reader. The call for a bucket follows its last copy. Gradients with
/// unknown launches have none.
void InsertBucketCopies(const Job& job, const GradientStep& step, const GradientTransfer& transfer,
                        Edit& edit);

/// Returns the time of a kernel that copies `bytes` bytes. If the GPU's bandwidth is unknown,
/// returns that of a kernel without work.
DurationNs CopyTime(const Job& job, double bytes);

/// Adds the channel of the exchange with bucketed all-reduces, as DistributedDataParallel makes
/// them. The effect abstains if the exchange is unknown. REQUIRES: the edit has no network channel
/// yet.
Effect InsertExchange(const Job& job, const Exchange& exchange, Edit& edit);

/// Runs InsertExchange() with one GPU per machine, unless the edit already has a network channel.
/// `arguments` must have the keys gpus, bandwidth-gbps and latency-us; an existing channel ignores
/// them.
Effect MakeExchange(const Job& job, const Arguments& arguments, double bucket_bytes, Edit& edit);

/// Returns a ring all-reduce of a channel's members, for schedules that send other data than the
/// gradients.
Edit::ChannelTask RingAllReduce(double bytes, const Channel& channel);

}  // namespace headroom
