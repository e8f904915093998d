// Records that a file should hold but does not.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns true if the trace stops at its exporter's event cap.
bool IsCapped(const TraceStore& store);

/// Returns true if the trace lost its tail: its event list is not closed, or its exporter stopped
/// at a cap.
bool IsCut(const TraceStore& store);

/// Returns the calls, in order of their rows, that launch a kernel without a recorded GPU task.
/// Excludes calls of a graph capture, which run nothing.
std::vector<HostEventId> FindLaunchesWithoutTask(const TraceStore& store, NameFacts& names);

}  // namespace headroom
