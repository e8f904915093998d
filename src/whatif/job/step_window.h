// Selects some steps of a trace that represent the job, and makes a job of them. The engine's cost
// then does not grow with the recording's length.
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

/// Consecutive steps: rows of Steps::list, both included.
struct StepWindow {
  std::size_t first = 0, last = 0;
  std::int64_t events = 0;  ///< Number of host events and GPU tasks; 0 if not counted.

  std::int64_t steps() const { return static_cast<std::int64_t>(last - first) + 1; }
};

/// Largest number of events in a window with three steps or more.
inline constexpr std::int64_t kMaxWindowEvents = 24'000;
/// Largest number of events in a run of which all steps are replayed.
inline constexpr std::int64_t kMaxRunEvents = 250'000;
/// Largest number of events in the part that represents a longer run, if it has three steps or
/// more.
inline constexpr std::int64_t kMaxPartEvents = 100'000;

/// Returns a window around the step nearest the median. Adds the preceding and the following step
/// in turn while they are complete. Takes at least two steps if possible, and more while the window
/// has at most kMaxWindowEvents. Like the step time, excludes the first of `steps` if the window
/// still has two steps without it. Returns nullopt if no step is complete.
std::optional<StepWindow> ChooseWindow(const TraceStore& store, const Steps& steps);

/// Returns the longest run of complete steps that follow each other without a pause; the first of
/// several runs of the same length. Returns nullopt if no step is complete. Excludes a single step
/// that takes far longer than the others, or whose host takes far longer.
std::optional<StepWindow> LongestWholeRun(const Steps& steps);

/// Returns the steps that forecasts replay: LongestWholeRun(); if that holds more than
/// kMaxRunEvents, a part like that of ChooseWindow(), of at most kMaxPartEvents.
std::optional<StepWindow> ReplayedRun(const TraceStore& store, const Steps& steps);

/// Returns the number of host events and GPU tasks in the steps of a window.
std::int64_t CountEvents(const TraceStore& store, const Steps& steps, const StepWindow& window);

/// A job made from a window of a trace's steps.
struct WindowJob {
  std::unique_ptr<TraceStore> slice;
  std::unique_ptr<Job> job;  ///< Job of the slice.
};

/// Returns the job of `window` as if nothing else had been recorded, with the step time of `steps`.
/// Fails if there is nothing to replay.
///
/// @param steps  steps of `store`
Result<WindowJob> MakeWindowJob(const TraceStore& store, const ReferenceData& reference,
                                const Steps& steps, const StepWindow& window,
                                const Calibration& calibration);

}  // namespace headroom
