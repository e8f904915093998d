// Recordings of one process, one after the other, as one trace.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "store/trace_store.h"

namespace headroom {

/// Why these are not recordings of one process, one after the other; empty: they are. They are
/// where their host events are of the same process ids and no two overlap in time.
///
/// REQUIRES: in order of the time at which they begin (BeginOf).
std::string WhyNotOneProcess(std::span<const std::unique_ptr<TraceStore>> parts);

/// When the first event of a trace begins, on the clock of Unix time where the trace tells it.
TimeNs BeginOf(const TraceStore& store);

/// One trace of all events. Processes, threads, devices and streams with the same numbers are the
/// same; clocks are taken to that of the first where both tell their Unix time.
///
/// REQUIRES: at least one part, all frozen, in order of time. O(events).
std::unique_ptr<TraceStore> JoinRecordings(std::span<const std::unique_ptr<TraceStore>> parts);

}  // namespace headroom
