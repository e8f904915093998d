// The step time that every command reports, and the steps that it averages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// Returns true if a step takes far longer than the median step.
bool IsOutlier(DurationNs wall, DurationNs median);

/// Returns, by row of steps.list, true if the step is whole and typical. Slow steps are outliers if
/// there are no other slow steps and they are farther from the median than any other step but the
/// first. In addition they must be
///
/// * one of five or more steps,
/// * the first two of five or more (warm-up), or
/// * two in a row of ten or more (a checkpoint between them).
///
/// Other slow steps are typical of the job. Slow steps that mostly wait for the loader are also
/// typical, because workers deliver in bursts. With 16 or more steps, this applies only to two slow
/// steps that are not the first two.
std::vector<bool> UsualSteps(const Steps& steps);

struct StepTime {
  DurationNs mean;
  DurationNs gpu_busy;     ///< Mean of the same steps.
  std::int64_t steps = 0;  ///< Number of steps in the mean.
};

/// Returns the mean of the typical steps, or nullopt if the trace has no whole step. Excludes the
/// first of several steps, because recording began in the middle of earlier work. If only every Nth
/// step updates the parameters, the mean is of the last whole cycles of N steps. Uses a mean, not a
/// median, because loaders deliver in bursts. The median step may not wait at all while the job
/// waits half of its time.
std::optional<StepTime> StepTimeOf(const Steps& steps);

/// Returns the standard error of the step time as a share of it. Uses the mean absolute deviation
/// of its steps from their median, because one slow step hardly affects it. Excludes the first
/// step. Returns 0 (unknown) with fewer than two other typical steps.
double StepTimeError(const Steps& steps);

}  // namespace headroom
