// What a file does not hold although it was recorded, or should have been.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// Whether the trace stops at the event cap of its exporter.
bool IsCapped(const TraceStore& store);

/// Whether the trace lost its tail: its event list is not closed, or its exporter stopped at a cap.
bool IsCut(const TraceStore& store);

/// Calls that launch a kernel of which no GPU task was recorded, by row. Not those of a graph
/// capture, which run nothing.
std::vector<HostEventId> FindLaunchesWithoutTask(const TraceStore& store, NameFacts& names);

}  // namespace headroom
