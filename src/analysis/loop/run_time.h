// Where the time of the whole recording went, in steps and outside of them.
#pragma once

#include <optional>

#include "analysis/loop/breakdown.h"
#include "analysis/loop/unmarked_loading.h"
#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// From the process's first event to its last. Every moment belongs to one row, so the rows sum to
/// `wall`: to the first of
///
///   not recorded: the loop pauses, and the process has no event (the profiler was off);
///   autotuning, evaluation (ranges, and steps of that kind);
///   compilation, garbage collection, checkpoints, memory calls, epoch edges, data wait, while the
///   GPU is idle (without GPU work: always);
///   steps, by kind if kinds differ: of those that take 1.5 times the median or longer only the
///   median, the rest is `first step` or `slow steps`;
///   earlier work: before the steps' own time, from the host's first step or from the first task
///   that was launched before it: the GPU is at what came before;
///   before the steps, between them, after them.
///
/// @param host             around the steps, with `unmarked` in it
/// @param optimizer_every  Steps::optimizer_every: then steps with the optimizer are not slow, but
///                         compared with each other
/// @return      none: no step is whole
std::optional<RunTime> MeasureRun(const TraceStore& store, NameFacts& names,
                                  const Attribution& attribution, const StepAnalysis& steps,
                                  const HostActivity& host, const UnmarkedLoading& unmarked,
                                  std::optional<std::int64_t> optimizer_every);

}  // namespace headroom
