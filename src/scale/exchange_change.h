// A recorded job on other GPUs, as one edit of its plan.
#pragma once

#include <optional>
#include <vector>

#include "scale/recorded_collectives.h"
#include "whatif/network.h"
#include "whatif/scenario.h"

namespace headroom {

/// A job's way to run on several GPUs.
struct ScaledJob {
  Exchange exchange;
  /// p3, dgc or blueconnect, with its keys; those that the exchange tells do not count. nullopt:
  /// one all-reduce a bucket.
  std::optional<ScenarioCall> schedule = {};
  std::vector<ScenarioCall> changes = {};  ///< Made before, e.g. amp.
};

/// Makes the job run so. Where it communicates already, its collectives are scaled instead
/// (RescaleCollectives()).
///
/// @param recorded  where the job ran
Effect ApplyScaledJob(const Job& job, const GpusOfJob& recorded, const ScaledJob& scaled,
                      Edit& edit);

}  // namespace headroom
