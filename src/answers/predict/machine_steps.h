// Scales out a job of one GPU to machines with several.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "answers/predict/render.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Adds the steps on the machines with the target's GPU.
///
/// @param job     job on one GPU of the target, as `headroom scale` models it
/// @param joules  returns the joules of one GPU in a step of `step_ms` milliseconds; nullopt if
/// unknown
void AddMachineSteps(ScalableJob& job, std::span<const PlannedMachine> machines,
                     const std::function<std::optional<double>(double step_ms)>& joules,
                     PredictedTarget& target);

}  // namespace headroom
