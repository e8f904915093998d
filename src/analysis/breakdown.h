// Where one step went: a split without overlaps that sums to the step.
#pragma once

#include "analysis/attribution.h"
#include "analysis/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Splits `span` by a priority sweep; every nanosecond goes to the first line that holds:
///   1. a compute kernel runs: the phase that launched it (of several, the one that started first);
///   2. a communication kernel runs: communication;
///   3. a copy from the host runs: host_to_device; another copy or a set: the phase that launched
///   it;
///   4. the GPU is idle: what the host does, on any thread, the first of data wait, callback,
///   optimizer, backward, forward;
///      else other.
/// A host thread is in a phase inside its ranges and operators, and between two successive ones of
/// the same phase. A launch in the data-wait phase counts as other work when its task runs.
StepBreakdown BreakDown(const TraceStore& store, NameFacts& names, const Attribution& attribution,
                        Interval span);

}  // namespace headroom
