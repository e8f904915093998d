// A change of a recorded job, forecast on another GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "predict/kernel_table.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// A step after a change, on one GPU.
struct ChangedStep {
  bool applies = true;  ///< If false, `why` gives the reason, and the other members are void.
  std::string why = {};
  PredictedMs step = {};
  double host_ms = 0;  ///< Step if every GPU task took 0 ms.
  double gpu_ms = 0;   ///< Step if the host were infinitely fast.
  double samples = 1;  ///< Samples per step, relative to the recorded step.
  std::optional<std::int64_t> memory_delta_bytes = {};  ///< nullopt if unknown.
};

/// Parses the changes of `headroom predict TRACE --with`, as `headroom whatif` names them. Fails
/// with kUsage, also for changes of the number of GPUs or jobs.
Result<std::vector<ScenarioCall>> ParsePredictedChange(std::string_view text);

/// Forecasts a change of a job on its GPU. The range combines that of the unchanged step with the
/// uncertainty of the change.
///
/// @param job  as recorded, or JobPredictor::JobOn() another GPU: the change then begins with that
///             GPU's times, and uses its rates
/// @param unchanged  the step without the change
ChangedStep StepAfter(const std::vector<ScenarioCall>& change, const Job& job,
                      const PredictedMs& unchanged);

}  // namespace headroom
