// Takes the cost of recording out of a plan: what the job would do without its profiler.
#pragma once

#include "graph/graph.h"
#include "sim/schedule.h"

namespace headroom {

/// Host time that a profiler takes, in nanoseconds.
struct RecordingCost {
  double operator_record =
      0;                    ///< Of an operator or annotation: half at its begin, half at its end.
  double call_record = 0;   ///< Of an API call, inside the call.
  double frame_record = 0;  ///< Of a Python frame: half at its begin, half at its end.
  /// The host's work behind a full launch queue is slower than the same work elsewhere (measured:
  /// 1.1 to 1.5 times; why is not known): what it is multiplied with.
  double behind_full_queue = 1;
};

/// Shortens host work and calls by what recording them took: at most three quarters of a piece of
/// work (what is left of the cost is taken from the work behind it) and four fifths of a call.
void RemoveRecordingCost(const Graph& graph, const RecordingCost& cost, Plan& plan);

}  // namespace headroom
