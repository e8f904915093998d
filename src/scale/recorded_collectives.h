// Scales the collectives of a job recorded on several GPUs to other GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "network/overlap_slowdown.h"
#include "network/topology.h"
#include "ranks/collective_skew.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// GPUs and network of a job.
struct GpusOfJob {
  Topology topology;
  Placement placement;
  /// Slowdown of kernels that overlap its collectives; nullopt: unknown.
  std::optional<OverlapSlowdown> overlap = {};
  /// Waits of the replayed rank in its collectives; empty: unknown.
  CollectiveWaits waits = {};
  bool without_waits = false;  ///< Assumes that the rank waited for no other.
};

/// Returns the number of GPUs of the recorded job: 1 if it does not communicate. Otherwise returns
/// the recorded world size, or the size of the largest process group. nullopt: the trace has
/// neither.
std::optional<std::int64_t> RecordedGpus(const Job& job);

/// Returns the network between the recorded GPUs, with each GPU as a separate machine. Its link
/// fits the times of all-reduces best (FitNetwork()). Uses times without waits (MeasureSkew()). If
/// these determine no link, uses the recorded rank's times, including waits. Fails (kNoAnswer) if
/// the trace lacks the all-reduces' sizes, or if no link explains the times.
Result<Topology> FitRecordedNetwork(const Job& job, std::int64_t gpus,
                                    std::span<const MeasuredAllReduce> without_waits);

/// Returns the slowdown of kernels that overlap the collectives.
std::optional<OverlapSlowdown> RecordedOverlap(const Job& job);

/// Scales each recorded collective by the ratio of FastestTime() for its kind and bytes; unrecorded
/// sizes count as a default bucket. Collectives of subgroups stay unchanged. The rank's waits for
/// others stay unchanged if known; else they scale too. On one GPU, removes collectives and, if
/// known, the slowdown of kernels that overlapped them.
Effect RescaleCollectives(const Job& job, const GpusOfJob& recorded, const GpusOfJob& target,
                          Edit& edit);

}  // namespace headroom
