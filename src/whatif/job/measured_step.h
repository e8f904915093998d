// Calibration with one figure: the true time of a step, measured without a profiler.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "sim/schedule.h"
#include "sim/step_scale.h"

namespace headroom {

/// The host's speed, derived from a measured step.
struct MeasuredStep {
  double host_factor = 1;  ///< Factor on all host time that gives the measured step time.
  /// False if the GPU limits the step, so that the step does not depend on the host.
  bool tells = true;
};

/// Returns the factor on the host's work and calls for which a replayed step takes `step_ms`. Fails
/// with kUsage if no factor from 0.3 to 3 gives that time. The time then belongs to another job,
/// such as one with another batch size or precision.
Result<MeasuredStep> FitToMeasuredStep(const Plan& plan, double step_ms, StepScale scale = {});

/// Multiplies the host's work and calls of a plan, including inserted ones.
void StretchHost(Plan& plan, double factor);

}  // namespace headroom
