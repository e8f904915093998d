// Calibration from one figure: the true time of a step, measured without a profiler.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "sim/schedule.h"
#include "sim/step_scale.h"

namespace headroom {

/// What a measured step says of the host.
struct MeasuredStep {
  double host_factor = 1;  ///< What all host time is multiplied with, so that the plan takes it.
  bool tells = true;  ///< Else the GPU paces the step, whatever the host does, and says nothing.
};

/// The factor on the host's work and calls for which the plan replays in `step_ms`. Fails (kUsage)
/// where no likely factor (0.3 to 3) does: then the time is of another job, e.g. another batch size
/// or precision.
Result<MeasuredStep> FitToMeasuredStep(const Plan& plan, double step_ms, StepScale scale = {});

/// Multiplies the host's work and calls of a plan, inserted ones included.
void StretchHost(Plan& plan, double factor);

}  // namespace headroom
