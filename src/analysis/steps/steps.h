// Training steps: found, timed by the ends of their GPU work, and given their tasks.
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

/// Steps and which tasks belong to them.
struct StepAnalysis {
  Steps steps;
  std::vector<Interval> spans;             ///< By row of steps.list: what `wall` measures.
  std::vector<std::int32_t> step_of_task;  ///< Row of steps.list by task; -1: none.
  static constexpr std::int32_t kNoStep = -1;

  std::vector<Interval> hosts;        ///< By row of steps.list: the step as the host sees it.
  std::vector<DurationNs> recording;  ///< By row of steps.list: rough cost of recording the host.
  IntervalSet busy;                   ///< When a task of the process runs.
  IntervalSet late;                   ///< Idle until the next task is launched and can start.
  IntervalSet queued;  ///< Idle although the next task is launched. Other idle time: unknown cause.
  ProcessId process;   ///< Whose steps these are; none: not of one process.

  /// Tasks without a launch that ran before any task with one on their stream: launched before
  /// recording began.
  std::vector<bool> before_recording;

  std::vector<MisplacedTask> misplaced;  ///< In no step; the steps that they touch are not whole.
};

/// Finds steps (a marker given by the user, else annotations, else what repeats), assigns tasks by
/// the start of their launch (by their own start where the trace holds no launches), and times each
/// step. Of several processes in one file, the one that annotates first has the steps.
Result<StepAnalysis> AnalyzeSteps(const TraceStore& store, NameFacts& names,
                                  const AnalysisOptions& options);

/// From the launch of the first GPU task to the end of the last, as if it were a step; where the
/// trace has steps, or no GPU work, nothing.
std::optional<StepAnalysis> FindStretch(const TraceStore& store, NameFacts& names,
                                        const StepAnalysis& steps);

/// Returns the rows of steps.list that count and do not overlap an earlier one. Overlaps (a damaged
/// clock) would count time twice.
std::vector<std::size_t> JudgedRows(const StepAnalysis& steps);

/// Of the steps of one or more files: clocks do not matter, for only lengths count.
WallSummary SummarizeWalls(std::span<const StepRow> rows);

}  // namespace headroom
