// A job of one GPU, scaled out to machines that have several.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "answers/predict/render.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Adds the steps on those machines that have the target's GPU.
///
/// @param job     of the target, as `headroom scale` sees it
/// @param joules  of one of the GPUs, in a step of so many milliseconds; nullopt: not known
void AddMachineSteps(ScalableJob& job, std::span<const PlannedMachine> machines,
                     const std::function<std::optional<double>(double step_ms)>& joules,
                     PredictedTarget& target);

}  // namespace headroom
