// How fast the host was while the trace was recorded: some profiles were taken while it ran at half
// its usual speed, for all threads or for one.
#pragma once

#include <map>
#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// What recorded host time is multiplied with to have that of the host at its usual speed, by
/// thread; others: 1.
using HostSpeed = std::map<ThreadId, double>;

/// Medians of the operators of `names` that launch nothing, of the training loop's thread and of
/// the autograd thread (the one that accumulates gradients); of names of which there are enough.
struct ThreadSpeeds {
  ReferenceSpeeds loop, autograd;
};
ThreadSpeeds MedianDurations(const TraceStore& store, const ReferenceSpeeds& names);

/// Compares operators that launch nothing, and do not follow a long wait, with the calibration's,
/// on each thread that has enough of them. Of a trace from the calibrated machine, each thread is
/// taken to that machine's speed. Of another one nobody knows how fast it should be, but a thread
/// that is slower than the others, by its operators' references, was slowed down: it is taken to
/// their speed.
///
/// @param not_dispatch  by host event: part of what says nothing of the framework (NotDispatch)
HostSpeed FindHostSpeed(const TraceStore& store, const Graph& graph,
                        const std::vector<bool>& not_dispatch, const Calibration& calibration);

/// Returns by host event whether it is or lies in a loader's range, a callback or a wait, or is a
/// range with an unknown name and nothing in it. What these take does not follow the speed of the
/// framework: they decode images, read files, wait.
std::vector<bool> NotDispatch(const TraceStore& store, NameFacts& names);

/// Multiplies the framework's work on the host with the factor of its thread: operators, calls, and
/// short stretches between them. Long stretches of Python, native code or nothing stay as they are.
void ScaleHostTime(const Graph& graph, const TraceStore& store,
                   const std::vector<bool>& not_dispatch, const HostSpeed& speed, Plan& plan);

}  // namespace headroom
