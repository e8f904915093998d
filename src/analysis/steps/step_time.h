// The step time that every command gives: which steps it is the mean of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// Returns whether a step takes far longer than the median step.
bool IsOutlier(DurationNs wall, DurationNs median);

/// Returns which steps are whole and usual, by row of steps.list. Slow steps are unusual if there
/// are no others, they are farther from the median than any other but the first, and they are
///
/// * one of five or more steps,
/// * the first two of five or more (warm-up), or
/// * two in a row of ten or more (a checkpoint between them).
///
/// Other slow steps are typical of the job. So are those that mostly wait for the loader, because
/// workers deliver in bursts: all among fewer than 16 steps, else two that are not the first ones.
std::vector<bool> UsualSteps(const Steps& steps);

struct StepTime {
  DurationNs mean;
  DurationNs gpu_busy;     ///< Mean of the same steps.
  std::int64_t steps = 0;  ///< How many steps the mean is of.
};

/// The mean of the usual steps. If there are several, the first does not count: recording began in
/// the middle of what came before it. If only every Nth step updates the parameters, the mean is of
/// the last whole cycles of N steps. None: no step is whole. A mean, not a median, because loaders
/// deliver in bursts: most steps may wait for nothing while the job waits for half of its time.
std::optional<StepTime> StepTimeOf(const Steps& steps);

/// Returns the standard error of the step time, as a share of it, from the mean distance of its
/// steps to their median, which one slow step moves little. Excludes the first step. Returns 0
/// (unknown) if fewer than two other usual steps exist.
double StepTimeError(const Steps& steps);

}  // namespace headroom
