// Data-parallel gradient exchange, as network tasks added to a job's graph.
#pragma once

#include <cstdint>
#include <functional>

#include "network/collectives.h"
#include "network/gradients.h"
#include "sim/edit.h"

namespace headroom {

/// torch.distributed's kDefaultBucketBytesCap and kDefaultFirstBucketBytes: the first bucket is
/// small, so that communication begins early.
inline constexpr double kBucketBytes = 25.0 * 1024 * 1024;
inline constexpr double kFirstBucketBytes = 1024.0 * 1024;

/// Returns the time to exchange a tensor of this many bytes.
using ExchangeTime = std::function<CollectiveTime(double bytes)>;

/// Returns the task that reads the gradients of a step, or the first task inserted in front of it.
Dependency ReaderOf(const Graph& graph, const GradientStep& step, const Edit& edit);

/// Inserts one collective per bucket of gradients, in order of readiness. A bucket is full once it
/// holds `bucket_bytes`. The first bucket is full once it holds kFirstBucketBytes, if that is less.
/// Each collective runs on `channel` as soon as its last gradient is ready. The reader of the
/// gradients waits for all of these collectives (Li et al., "PyTorch Distributed", VLDB 2020).
///
/// @param graph  graph of the edit and the gradients
void InsertBuckets(const Graph& graph, const GradientStep& step, double bucket_bytes,
                   std::uint32_t channel, const ExchangeTime& time, Edit& edit);

}  // namespace headroom
