// A recorded job on other GPUs, as one edit of its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "scale/recorded_collectives.h"
#include "scale/sharded_exchange.h"
#include "scale/tensor_parallel.h"
#include "whatif/scenarios/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// One all-reduce a bucket.
struct BucketSchedule {};

/// Sums on so many machines that do nothing else.
struct ServerSchedule {
  std::int64_t servers = 1;
};

/// How ranks exchange what they have in common. A call is p3, dgc or blueconnect with its keys;
/// those that the exchange tells do not count.
using Schedule = std::variant<BucketSchedule, ScenarioCall, ZeroStage, ServerSchedule>;

/// GPUs that share layers.
struct TensorSharing {
  const TensorParallel* layers = nullptr;  ///< nullptr: each has all.
  GpuGroup group;
};

/// A job's way to run on several GPUs.
struct ScaledJob {
  Exchange exchange;  ///< Between those that hold the same parameters.
  TensorSharing tensor = {};
  Schedule schedule = {};
  std::vector<ScenarioCall> changes = {};  ///< Made before, e.g. amp.
};

/// Makes the job run so. Where it communicates already, its collectives are scaled instead
/// (RescaleCollectives()).
///
/// @param recorded  where the job ran
Effect ApplyScaledJob(const Job& job, const GpusOfJob& recorded, const ScaledJob& scaled,
                      Edit& edit);

}  // namespace headroom
