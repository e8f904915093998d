// Times at which work is captured into a graph instead of run.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// A stream capture, from its start to its end on the same thread.
struct GraphCapture {
  ProcessId process;
  Interval time;
  /// If false, the end was not recorded and the capture lasts to the end of the trace.
  bool has_end = false;
};

/// Returns all captures, by thread and time. A launch during a capture creates no GPU task.
std::vector<GraphCapture> ListGraphCaptures(const TraceStore& store, NameFacts& names);

/// Returns the union of all captures.
IntervalSet FindGraphCaptures(const TraceStore& store, NameFacts& names);

/// Returns true if the time is in the set, in O(log n).
bool Contains(const IntervalSet& set, TimeNs when);

}  // namespace headroom
