// Takes the cost of recording out of a plan: what the job would do without its profiler.
#pragma once

#include "graph/graph.h"
#include "sim/plan.h"

namespace headroom {

/// Host time that a profiler takes, in nanoseconds.
struct RecordingCost {
  double operator_record =
      0;                    ///< Of an operator or annotation: half at its begin, half at its end.
  double call_record = 0;   ///< Of an API call, inside the call.
  double frame_record = 0;  ///< Of a Python frame: half at its begin, half at its end.
  /// What host time shortly behind a long wait is multiplied with to have that of the same work
  /// elsewhere.
  double after_wait = 1;
};

/// Brings work behind waits to the host's usual speed, and shortens host work and calls by what
/// recording them took: at most three quarters of a piece of work (what is left of the cost is
/// taken from the work behind it) and four fifths of a call.
void RemoveRecordingCost(const Graph& graph, const RecordingCost& cost, Plan& plan);

}  // namespace headroom
