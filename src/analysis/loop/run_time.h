// Breakdown of the whole recording, inside and outside the steps.
#pragma once

#include <optional>

#include "analysis/loop/breakdown.h"
#include "analysis/loop/unmarked_loading.h"
#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Covers the time from the process's start to its end, where these are recorded, else from its
/// first event to its last. Every moment belongs to one row, so
/// the rows sum to `wall`. The first row that matches applies:
///
/// * not recorded: the loop pauses, and the process has no event (the profiler was off)
/// * autotuning, evaluation (ranges, and steps of that kind)
/// * compilation, garbage collection, checkpoints, memory calls, epoch edges, data wait: only while
///   the GPU is idle, if there is GPU work
/// * first batch: data wait until the end of the first step's first wait
/// * steps, by kind if kinds differ
/// * first step, slow steps: the excess of a step over the median, if the step takes at least 1.5
///   times the median
/// * earlier work: the time until the first step's own time begins, while the GPU still runs tasks
///   launched before that step. Starts when the host begins the first step or the first such task
///   starts, whichever is earlier.
/// * imports: sampled stacks with a frame of Python's import system
/// * start-up, shutdown: before the process's first event or sample, after its last
/// * before the steps, between them, after them; named after the longest event in the longest gap,
///   or after the line of code with the most samples
///
/// @param host             host activity that covers the steps and includes `unmarked`
/// @param optimizer_every  Steps::optimizer_every; if set, compares each step only with steps at
///                         the same position in the optimizer's cycle
/// @return                 nullopt if the trace has no whole step
std::optional<RunTime> MeasureRun(const TraceStore& store, NameFacts& names,
                                  const Attribution& attribution, const StepAnalysis& steps,
                                  const HostActivity& host, const UnmarkedLoading& unmarked,
                                  std::optional<std::int64_t> optimizer_every);

}  // namespace headroom
