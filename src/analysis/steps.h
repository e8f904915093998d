// Training steps: found, timed by the ends of their GPU work, and given their tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/attribution.h"
#include "analysis/report.h"
#include "base/interval_set.h"

namespace headroom {

/// A step as the host sees it.
struct HostStep {
  std::int64_t index;
  Interval host;
};

/// Steps and which tasks belong to them.
struct StepAnalysis {
  Steps steps;
  std::vector<Interval> spans;             ///< By row of steps.list: what `wall` measures.
  std::vector<std::int32_t> step_of_task;  ///< Row of steps.list by task; -1: none.
  static constexpr std::int32_t kNoStep = -1;

  /// Tasks without a launch that ran before any task with one on their stream: launched before
  /// recording began.
  std::vector<bool> before_recording;
};

/// Finds steps (annotations, else a marker given by the user, else what repeats), assigns tasks by
/// the start of their launch, and times each step. `gpu_busy` is the union of all GPU tasks of the
/// trace.
Result<StepAnalysis> AnalyzeSteps(const TraceStore& store, NameFacts& names,
                                  const IntervalSet& gpu_busy, const AnalysisOptions& options);

}  // namespace headroom
