// Some steps of a trace that stand for the job, and the job made of them: the engine's cost then
// does not grow with the length of the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "analysis/analyze.h"
#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/job/job.h"

namespace headroom {

/// Steps that follow each other: rows of Steps::list, both included.
struct StepWindow {
  std::size_t first = 0, last = 0;
  std::int64_t events = 0;  ///< Host events and GPU tasks, where they were counted.

  std::int64_t steps() const { return static_cast<std::int64_t>(last - first) + 1; }
};

/// Events of a window with three steps or more.
inline constexpr std::int64_t kMaxWindowEvents = 24'000;
/// Events of the steps that a report replays for its savings.
inline constexpr std::int64_t kMaxRunEvents = 250'000;

/// The step nearest the median and its neighbours, the one before first, as far as they are whole:
/// at least two of them, so that they can follow each other, and more while they hold at most
/// kMaxWindowEvents. As the step time, excludes the first of `steps` if two others follow each
/// other. None: no step is whole.
std::optional<StepWindow> ChooseWindow(const TraceStore& store, const Steps& steps);

/// The longest run of whole steps that follow each other without a pause, the first of several;
/// none: no step is whole. One step that takes far longer than the others, or whose host does, is
/// in no window.
std::optional<StepWindow> LongestWholeRun(const Steps& steps);

/// Returns the number of host events and GPU tasks in the steps of a window.
std::int64_t CountEvents(const TraceStore& store, const Steps& steps, const StepWindow& window);

/// A job made of a window of a trace's steps.
struct WindowJob {
  std::unique_ptr<TraceStore> slice;
  std::unique_ptr<Job> job;  ///< Of the slice.
};

/// The job of `window`, as if nothing else had been recorded, with the step time of `steps`. Fails
/// where there is nothing to replay.
///
/// @param steps  of `store`
Result<WindowJob> MakeWindowJob(const TraceStore& store, const ReferenceData& reference,
                                const Steps& steps, const StepWindow& window,
                                const Calibration& calibration);

}  // namespace headroom
