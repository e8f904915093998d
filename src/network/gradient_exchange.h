// Data-parallel exchange of gradients, as tasks of a network beside a job's own.
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

/// What exchanging a tensor of so many bytes takes.
using ExchangeTime = std::function<CollectiveTime(double bytes)>;

/// What reads the gradients of a step, with all that was inserted in front of it.
Dependency ReaderOf(const Graph& graph, const GradientStep& step, const Edit& edit);

/// One collective a bucket of gradients, in the order in which they get ready; a bucket is full
/// once it holds `bucket_bytes` (the first: kFirstBucketBytes, if that is less). Each runs on
/// `channel` as soon as its last gradient is ready, and what reads the gradients waits for all (Li
/// et al., "PyTorch Distributed", VLDB 2020).
///
/// @param graph  that the edit and the gradients are of
void InsertBuckets(const Graph& graph, const GradientStep& step, double bucket_bytes,
                   std::uint32_t channel, const ExchangeTime& time, Edit& edit);

}  // namespace headroom
