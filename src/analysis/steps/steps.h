// Finds training steps, times them by the ends of their GPU work, and assigns their tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/steps/misplaced.h"
#include "analysis/values/options.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"

namespace headroom {

/// Steps and the tasks that belong to them.
struct StepAnalysis {
  Steps steps;
  std::vector<Interval> spans;             ///< By row of steps.list: the time that `wall` measures.
  std::vector<std::int32_t> step_of_task;  ///< Row of steps.list by task; -1 for no step.
  static constexpr std::int32_t kNoStep = -1;

  std::vector<Interval> hosts;        ///< By row of steps.list: the step on the host's clock.
  std::vector<DurationNs> recording;  ///< By row of steps.list: rough cost of recording the host.
  IntervalSet busy;                   ///< Times in which a task of the process runs.
  IntervalSet late;  ///< GPU idle time until the next task is launched and can start.
  /// GPU idle time although the next task is launched. Other idle time has an unknown cause.
  IntervalSet queued;
  ProcessId process;  ///< Process that runs the steps; None() if they are not from one process.

  /// By task: true if it was launched before recording began.
  std::vector<bool> before_recording;

  std::vector<MisplacedTask> misplaced;  ///< Part of no step; steps that they affect are not whole.
};

/// Finds steps from a marker that the user gives, else annotations, else repetition. Assigns tasks
/// by the start of their launch, or by their own start if the trace has no launches. Then times
/// each step. Of several processes in one file, the one that annotates first has the steps.
Result<StepAnalysis> AnalyzeSteps(const TraceStore& store, NameFacts& names,
                                  const AnalysisOptions& options);

/// Returns the time from the launch of the first GPU task to the end of the last, as if it were a
/// step. Returns nullopt if the trace has steps, or no GPU work.
std::optional<StepAnalysis> FindStretch(const TraceStore& store, NameFacts& names,
                                        const StepAnalysis& steps);

/// Returns the rows of steps.list that count and do not overlap an earlier one. Overlaps (a damaged
/// clock) would count time twice.
std::vector<std::size_t> JudgedRows(const StepAnalysis& steps);

/// Summarizes the steps of one or more files. Only lengths count, so clocks may differ.
WallSummary SummarizeWalls(std::span<const StepRow> rows);

}  // namespace headroom
