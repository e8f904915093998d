// A recorded job on other GPUs, as one edit of its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "scale/recorded_collectives.h"
#include "scale/sharded_exchange.h"
#include "scale/tensor_parallel.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// One all-reduce per bucket.
struct BucketSchedule {};

/// Dedicated parameter servers on this many machines.
struct ServerSchedule {
  std::int64_t servers = 1;
};

/// Exchange of gradients or parameters between ranks. A ScenarioCall is p3, dgc or blueconnect with
/// its keys; keys that the exchange determines are ignored.
using Schedule = std::variant<BucketSchedule, ScenarioCall, ZeroSharding, ServerSchedule>;

/// GPUs that share layers.
struct TensorSharing {
  const TensorParallel* layers = nullptr;  ///< nullptr: each GPU has all layers.
  GpuGroup group;
};

/// A job on several GPUs: gradient exchange, tensor parallelism, and changes.
struct ScaledJob {
  Exchange exchange;  ///< Between GPUs that hold the same parameters.
  TensorSharing tensor = {};
  Schedule schedule = {};
  std::vector<ScenarioCall> changes = {};  ///< Scenarios that are applied first, such as amp.
};

/// Edits the job to run on other GPUs. If the recorded job already communicates, scales its
/// collectives instead (RescaleCollectives()).
///
/// @param recorded  GPUs of the recorded job
Effect ApplyScaledJob(const Job& job, const GpusOfJob& recorded, const ScaledJob& scaled,
                      Edit& edit);

}  // namespace headroom
