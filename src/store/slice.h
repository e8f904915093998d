// Cuts a time interval out of a trace as a separate trace.
#pragma once

#include <memory>

#include "base/interval_set.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns the trace that a profiler would have recorded from `host.start` to `host.end`, if it
/// then waited for the GPU until `gpu_end`. The slice contains:
/// - host events that begin in the interval, and those open at its start;
/// - GPU tasks that begin from `host.start` to `gpu_end`, without those launched after the
///   interval.
///
/// Tasks launched before the interval have no launch, as in any recording that begins while the GPU
/// works. Processes, threads, devices and streams keep their ids, but strings do not. Arrows,
/// counters, memory events and instants are omitted.
///
/// REQUIRES: `store` is frozen. O(events of the interval + tables of tracks + strings).
std::unique_ptr<TraceStore> Slice(const TraceStore& store, Interval host, TimeNs gpu_end);

/// Returns the rows [first, last) of a thread's host events that begin in an interval.
TraceStore::RowRange HostEventsWithin(const TraceStore& store, ThreadId thread, Interval interval);

}  // namespace headroom
