// Steps told by the order in which the host runs operators, where there is no GPU work.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Steps that repeat the same operators on one thread.
struct OperatorSteps {
  std::vector<Interval> spans;  ///< From one first operator to the next. Empty: none recognized.
  ProcessId process;
  std::size_t operators = 0;  ///< A step.
};

/// Searches the outermost operators of the thread that is longest in operators for a unit that
/// repeats at least three times. If other operators run before or behind the repetitions, these may
/// be the layers of one pass, and are no steps. Linear in the operators.
OperatorSteps FindOperatorSteps(const TraceStore& store);

}  // namespace headroom
