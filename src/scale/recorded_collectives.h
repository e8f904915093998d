// The collectives of a job that was recorded on several GPUs, on others.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "cluster/topology.h"
#include "whatif/job.h"
#include "whatif/scenario.h"

namespace headroom {

/// Where a job runs.
struct GpusOfJob {
  Topology topology;
  Placement placement;
};

/// Whether any collective was recorded.
bool Communicates(const Job& job);

/// The GPUs of the recorded job: 1 where it does not communicate; else what the trace says of the
/// whole job, or of the largest group. nullopt: it says neither.
std::optional<std::int64_t> RecordedGpus(const Job& job);

/// Each recorded collective takes as much longer or shorter as TimeOf() says of its kind and bytes,
/// of a usual bucket where those were not recorded. What it took holds its wait for the slowest
/// rank, too, which is scaled along. On one GPU there is none.
Effect RescaleCollectives(const Job& job, const GpusOfJob& recorded, const GpusOfJob& target,
                          Edit& edit);

}  // namespace headroom
