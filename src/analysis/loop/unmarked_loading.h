// Loaders without marks: a loop's generator, a tf.data iterator, a database.
#pragma once

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Time in which the loop gets its batch, inferred only from the position of that time in the loop.
struct UnmarkedLoading {
  IntervalSet time;
  ThreadId thread;  ///< Thread of the loop.
  /// The longest frame or range in that time; None() if nothing was recorded there.
  HostEventId longest;

  bool empty() const { return time.empty(); }
};

/// Finds the time between the optimizer's update and the next pass on the loop's thread. Before the
/// first pass, it starts with the step. Only time in which the GPU is idle and the host makes no
/// call counts. Excludes operators that launch or copy, ranges of another phase, and frames named
/// for other work (saving, logging, evaluation).
///
/// Empty in three cases:
/// * The time is less than 5 % of the steps. Real jobs without a loader reach 1.2 %.
/// * A range marks a loader.
/// * No optimizer was recorded.
UnmarkedLoading FindUnmarkedLoading(const TraceStore& store, NameFacts& names,
                                    const Attribution& attribution, const StepAnalysis& steps);

}  // namespace headroom
