// A recorded job on other GPUs, as one edit of its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "scale/recorded_collectives.h"
#include "scale/sharded_exchange.h"
#include "whatif/network.h"
#include "whatif/scenario.h"

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

/// A job's way to run on several GPUs.
struct ScaledJob {
  Exchange exchange;
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
