// How fast the host was while the trace was recorded: some profiles were taken while it ran at half
// its usual speed, for all threads or for one.
#pragma once

#include <map>

#include "base/ids.h"
#include "graph/graph.h"
#include "sim/schedule.h"
#include "store/trace_store.h"
#include "whatif/calibration.h"

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
HostSpeed FindHostSpeed(const TraceStore& store, const Graph& graph,
                        const Calibration& calibration);

/// Multiplies the host's work and calls with the factor of their thread.
void ScaleHostTime(const Graph& graph, const TraceStore& store, const HostSpeed& speed, Plan& plan);

}  // namespace headroom
