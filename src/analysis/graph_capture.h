// When work is recorded into a graph instead of being run.
#pragma once

#include "analysis/name_facts.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// From each begin of a stream capture to the end of that capture on the same thread: launches in
/// between make no GPU task. A capture whose end was not recorded lasts to the end of the trace.
IntervalSet FindGraphCaptures(const TraceStore& store, NameFacts& names);

/// Whether a time is in the set. O(log n).
bool Contains(const IntervalSet& set, TimeNs when);

}  // namespace headroom
