// The collectives of a job that was recorded on several GPUs, on others.
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

/// Where a job runs.
struct GpusOfJob {
  Topology topology;
  Placement placement;
  /// Of kernels beside its collectives; nullopt: not known.
  std::optional<OverlapSlowdown> overlap = {};
  /// Of the replayed rank in its collectives; empty: not known.
  CollectiveWaits waits = {};
  bool without_waits = false;  ///< As if it had waited for nobody.
};

/// The GPUs of the recorded job: 1 where it does not communicate; else what the trace says of the
/// whole job, or of the largest group. nullopt: it says neither.
std::optional<std::int64_t> RecordedGpus(const Job& job);

/// The network between the recorded GPUs, as if each were a machine of its own: the link that
/// explains best what all-reduces took (FitNetwork()): those without waits (MeasureSkew()) or,
/// where they tell no link, those of the recorded rank, its waits included. Fails (kNoAnswer) where
/// their sizes were not recorded, or no link explains their times.
Result<Topology> FitRecordedNetwork(const Job& job, std::int64_t gpus,
                                    std::span<const MeasuredAllReduce> without_waits);

/// What its collectives cost kernels beside them.
std::optional<OverlapSlowdown> RecordedOverlap(const Job& job);

/// Each recorded collective takes as much longer or shorter as TimeOf() says of its kind and bytes,
/// of a usual bucket where those were not recorded; those of a part of the job stay. What the rank
/// waited in it for others stays, where that is known; else it is scaled along. On one GPU there
/// is none, and kernels that ran beside one are no longer slowed down by it, where that is known.
Effect RescaleCollectives(const Job& job, const GpusOfJob& recorded, const GpusOfJob& target,
                          Edit& edit);

}  // namespace headroom
