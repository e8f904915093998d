// Speed of the host during the recording. Some profiles were taken while the host ran at half its
// normal speed, on all threads or on one.
#pragma once

#include <map>
#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// Factor for each thread that converts its recorded host time to the host's normal speed. Missing
/// threads have a factor of 1.
using HostSpeed = std::map<ThreadId, double>;

/// Median durations of the operators in `names` that launch nothing. Omits names with too few
/// operators. `loop` is the training loop's thread; `autograd` is the thread that accumulates
/// gradients.
struct ThreadSpeeds {
  ReferenceSpeeds loop, autograd;
};
ThreadSpeeds MedianDurations(const TraceStore& store, const ReferenceSpeeds& names);

/// Compares the durations of operators with the calibration's, on each thread that has enough of
/// them. Uses operators that launch nothing and do not follow a long wait.
/// - Trace from the calibrated machine: each thread is converted to that machine's speed.
/// - Trace from another machine: the normal speed is unknown. A thread that is slower than the
///   others, relative to its operators' references, is converted to their speed.
///
/// @param not_dispatch  result of NotDispatch()
HostSpeed FindHostSpeed(const TraceStore& store, const Graph& graph,
                        const std::vector<bool>& not_dispatch, const Calibration& calibration);

/// Returns a flag per host event: true for time that does not follow the framework's speed:
/// decoding images, reading files, waiting. This covers events in a data loader's range, a callback
/// or a wait, and ranges with an unknown name and no nested events.
std::vector<bool> NotDispatch(const TraceStore& store, NameFacts& names);

/// Multiplies the framework's host work by the factor of its thread: operators, calls, and short
/// stretches between them. Long stretches of Python, of native code or without events stay
/// unchanged.
void ScaleHostTime(const Graph& graph, const TraceStore& store,
                   const std::vector<bool>& not_dispatch, const HostSpeed& speed, Plan& plan);

}  // namespace headroom
