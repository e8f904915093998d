// Finds pauses: times between steps that belong to no step.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Totals of some GPU tasks.
struct GpuWork {
  TimeNs end{INT64_MIN};  ///< INT64_MIN if there are none.
  DurationNs kernels;     ///< Total time of kernels.

  /// Size of the largest copy to the device, in bytes.
  static constexpr std::int64_t kNoCopy = -1, kUnknownSize = -2;
  std::int64_t largest_copy = kNoCopy;

  void Add(const TraceStore& store, GpuTaskId task);
};

/// The GPU work, by the step in which it was launched.
struct LaunchedWork {
  TimeNs end_before_first{INT64_MIN};
  std::vector<GpuWork> of_step;
  std::vector<GpuWork> before_step;  ///< Launched between the previous step and this one.

  struct TaskBetween {
    GpuTaskId task;
    std::size_t before_step;
  };
  std::vector<TaskBetween> between;  ///< The tasks of `before_step`.
};

/// Sets StepRow::after_pause and since_previous. A step follows a pause in two cases:
///
/// * The host is in no step for longer than three median steps, and the process records almost
///   nothing except occasional work (IsOccasional()). Usually the profiler was off. Exception: the
///   steps' numbers have no holes, and most steps have such a gap before them.
/// * An evaluation runs for longer than a tenth of a step, but not before most steps. A named
///   evaluation counts with the host's time, an unnamed one with the time of its kernels. An
///   unnamed evaluation updates no weights and mostly runs kernels of the steps, including products
///   if the steps have any. Its largest copy to the device has at least half the size of the steps'
///   largest copy. No range gives it another name.
///
/// Other work between marks, such as a fetch, belongs to the next step.
void FindPauses(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                StepAnalysis& steps);

/// Returns the pauses: the host's time between a step that follows a pause and the previous one.
IntervalSet PausesBetween(const StepAnalysis& steps);

}  // namespace headroom
