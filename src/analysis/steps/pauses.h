// Finds pauses: times between steps that belong to no step.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/name_facts.h"
#include "analysis/steps.h"
#include "base/interval_set.h"
#include "base/units.h"
#include "store/trace_store.h"

namespace headroom {

/// Some GPU tasks.
struct GpuWork {
  TimeNs end{INT64_MIN};  ///< INT64_MIN if there are none.
  DurationNs kernels;     ///< Sum.

  /// Size of the largest copy to the device, in bytes.
  static constexpr std::int64_t kNoCopy = -1, kUnknownSize = -2;
  std::int64_t largest_copy = kNoCopy;

  void Add(const TraceStore& store, GpuTaskId task);
};

/// The GPU work by the step in which it was launched.
struct LaunchedWork {
  TimeNs end_before_first{INT64_MIN};
  std::vector<GpuWork> of_step;
  std::vector<GpuWork> before_step;  ///< Launched between the step before and this one.

  struct TaskBetween {
    GpuTaskId task;
    std::size_t before_step;
  };
  std::vector<TaskBetween> between;  ///< The tasks of `before_step`.
};

/// Sets StepRow::after_pause and since_previous. A step follows a pause if before it
///
/// * the host is in no step for longer than three median steps, and almost nothing of the process
///   is recorded except occasional work (IsOccasional()). Usually the profiler was off.
/// * an evaluation runs for longer than a tenth of a step, but not before most steps. The host's
///   time counts if the evaluation has a name, else the time of its kernels. One without a name
///   updates nothing, runs mostly the kernels of steps, and copies batches as large as theirs to
///   the device, or nothing.
///
/// Other work between marks, such as a fetch, belongs to the next step.
void FindPauses(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                StepAnalysis& steps);

/// Returns the host's time between steps before those that follow a pause.
IntervalSet PausesBetween(const StepAnalysis& steps);

}  // namespace headroom
