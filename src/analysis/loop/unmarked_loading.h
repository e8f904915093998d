// Loaders that mark nothing: a loop's own generator, a tf.data iterator, a database.
#pragma once

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Time in which the loop gets its batch, told by its place alone.
struct UnmarkedLoading {
  IntervalSet time;
  ThreadId thread;      ///< The loop's.
  HostEventId longest;  ///< The longest frame or range in it; none: nothing was recorded there.

  bool empty() const { return time.empty(); }
};

/// The time between the optimizer's update and the next pass on the thread of the loop, before the
/// first between the step's beginning and its pass, in which the GPU is idle and the host makes no
/// call. Not: operators that launch or copy, ranges of another phase, and frames whose names say
/// something else (saving, logging, evaluation). Empty if it is less than 5 % of the steps (without
/// a loader, real jobs have at most 1.2 %), if a range marks a loader, or if no optimizer is
/// recorded.
UnmarkedLoading FindUnmarkedLoading(const TraceStore& store, NameFacts& names,
                                    const Attribution& attribution, const StepAnalysis& steps);

}  // namespace headroom
