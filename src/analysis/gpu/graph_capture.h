// When work is recorded into a graph instead of being run.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// From the begin of a stream capture to the end of that capture on the same thread.
struct GraphCapture {
  ProcessId process;
  Interval time;
  bool has_end = false;  ///< Else its end was not recorded, and it lasts to the end of the trace.
};

/// All captures, by thread and time. Launches in them make no GPU task.
std::vector<GraphCapture> ListGraphCaptures(const TraceStore& store, NameFacts& names);

/// When any capture lasts.
IntervalSet FindGraphCaptures(const TraceStore& store, NameFacts& names);

/// Whether a time is in the set. O(log n).
bool Contains(const IntervalSet& set, TimeNs when);

}  // namespace headroom
