// Finds steps from the order in which the host runs operators, for traces without GPU work.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Steps that repeat the same operators on one thread.
struct OperatorSteps {
  /// Each from the first operator of a step to that of the next; empty if no steps were recognized.
  std::vector<Interval> spans;
  ProcessId process;
  std::size_t operators = 0;  ///< Operators per step.
};

/// Searches the outermost operators of one thread, the one with the most operator time, for a unit
/// that repeats at least three times. If other operators run before or after the repetitions, these
/// may be the layers of one pass, so they are not steps. Takes linear time in the operators.
OperatorSteps FindOperatorSteps(const TraceStore& store);

}  // namespace headroom
