// When the loop does something else than steps.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/name_facts.h"
#include "analysis/steps.h"
#include "base/interval_set.h"
#include "base/units.h"
#include "store/trace_store.h"

namespace headroom {

/// When the GPU is done with work; INT64_MIN: there was none.
struct Work {
  TimeNs end{INT64_MIN};
  DurationNs time;                 ///< Sum of the tasks.
  std::int64_t largest_copy = -1;  ///< Into the device, in bytes; -1: no copy.

  void Add(const TraceStore& store, GpuTaskId task);
};

/// The GPU work by the step in which it was launched.
struct LaunchedWork {
  TimeNs end_before_first{INT64_MIN};
  std::vector<Work> of_step;
  std::vector<Work> before_step;  ///< Launched between the step before and this one.
};

/// Sets StepRow::after_pause and since_previous. A step follows a pause if before it
///
/// * the host is in no step for longer than three median steps, and almost nothing of the process
///   is recorded except occasional work (IsOccasional()). Usually the profiler was off.
/// * an evaluation runs: more than a tenth of a step. If one runs before most steps, it is part of
///   the loop.
///
/// Other work between marks, such as a fetch, belongs to the next step.
void FindPauses(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                StepAnalysis& steps);

/// Returns the host's time between steps before those that follow a pause.
IntervalSet PausesBetween(const StepAnalysis& steps);

}  // namespace headroom
