// Joins consecutive recordings of one process into one trace.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "store/trace_store.h"

namespace headroom {

/// Returns why the parts are not consecutive recordings of one process; empty if they are. Their
/// host events must have the same process ids, and no two parts may overlap in time.
///
/// REQUIRES: parts in order of their first event (BeginOf).
std::string WhyNotOneProcess(std::span<const std::unique_ptr<TraceStore>> parts);

/// Returns the time of a trace's first event, as Unix time if the trace records it.
TimeNs BeginOf(const TraceStore& store);

/// Returns one trace with all events. Processes, threads, devices and streams with equal numbers
/// are merged. If two parts both record Unix time, the later part's clock is shifted to that of the
/// first.
///
/// REQUIRES: at least one part, all frozen, in order of time. O(events).
std::unique_ptr<TraceStore> JoinRecordings(std::span<const std::unique_ptr<TraceStore>> parts);

}  // namespace headroom
