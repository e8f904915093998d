// The one step time that all answers give: of which steps it is the mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/report.h"
#include "base/units.h"

namespace headroom {

/// Returns whether a step takes far longer than the median step.
bool IsOutlier(DurationNs wall, DurationNs median);

/// Whole steps without the one among five or more that takes far longer than the others, by row of
/// steps.list. Several slow ones are how the job runs.
std::vector<bool> UsualSteps(const Steps& steps);

struct StepTime {
  DurationNs mean;
  std::int64_t steps = 0;  ///< Of so many.
};

/// The mean of the usual steps; without the first, where there are others, for it began in the
/// middle of what came before. None: no step is whole. The mean and not the median, for a loader
/// delivers in bursts: most steps may wait for nothing and the job still for half of its time.
std::optional<StepTime> StepTimeOf(const Steps& steps);

}  // namespace headroom
