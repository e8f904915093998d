// Data-parallel gradient exchange, as network tasks added to a job's graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/time.h"
#include "network/collectives.h"
#include "network/gradients.h"
#include "sim/edit.h"

namespace headroom {

/// torch.distributed's kDefaultBucketBytesCap and kDefaultFirstBucketBytes: the first bucket is
/// small, so that communication begins early.
inline constexpr double kBucketBytes = 25.0 * 1024 * 1024;
inline constexpr double kFirstBucketBytes = 1024.0 * 1024;

/// How the gradients of a step travel.
struct GradientTransfer {
  double bucket_bytes = kBucketBytes;  ///< Data that travels in a bucket.
  /// Bytes per element of the data that travels; nullopt: those of the gradient.
  std::optional<double> element_bytes = {};
  bool overlaps = true;  ///< False: the exchange begins after the backward.
  /// Host time of the call for one bucket; nullopt: from the host's time per kernel.
  std::optional<DurationNs> bucket_call = {};

  /// Returns the gradients as they travel.
  GradientStep Sent(GradientStep step) const;
};

/// Returns the time to exchange a tensor of this many bytes.
using ExchangeTime = std::function<CollectiveTime(double bytes)>;

/// Returns the task that reads the gradients of a step, or the first task inserted in front of it.
Dependency ReaderOf(const Graph& graph, const GradientStep& step, const Edit& edit);

/// Returns the index of the last gradient in each bucket, in order of readiness. A bucket is full
/// once it holds `bucket_bytes`. The first bucket is full once it holds kFirstBucketBytes, if that
/// is less.
std::vector<std::size_t> BucketEnds(const GradientStep& step, double bucket_bytes);

/// Inserts one collective per bucket of gradients. Each collective runs on `channel` as soon as its
/// last gradient is ready or, without overlap, as soon as all are. The reader of the gradients
/// waits for all of these collectives (Li et al., "PyTorch Distributed", VLDB 2020).
///
/// @param graph  graph of the edit and the gradients
void InsertBuckets(const Graph& graph, const GradientStep& step, const GradientTransfer& transfer,
                   std::uint32_t channel, const ExchangeTime& time, Edit& edit);

}  // namespace headroom
