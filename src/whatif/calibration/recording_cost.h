// Removes the cost of recording from a plan. The result is the job without its profiler.
#pragma once

#include "graph/graph.h"
#include "sim/plan.h"

namespace headroom {

/// Host time of a profiler, in nanoseconds.
struct RecordingCost {
  double operator_record =
      0;                   ///< Time per operator or annotation: half at its start, half at its end.
  double call_record = 0;  ///< Time per API call, inside the call.
  double frame_record = 0;  ///< Time per Python frame: half at its start, half at its end.
  /// Factor that converts host time shortly after a long wait to the host's normal speed.
  double after_wait = 1;
};

/// Converts work after waits to the host's normal speed. Then shortens host work and calls by their
/// recording cost. Work before a call shrinks by at most three quarters, a call by at most four
/// fifths. If the cost of such work exceeds its limit, subtracts the rest from the work before the
/// next call.
void RemoveRecordingCost(const Graph& graph, const RecordingCost& cost, Plan& plan);

}  // namespace headroom
