// A stretch of a trace as a trace of its own.
#pragma once

#include <memory>

#include "base/interval_set.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// What the profiler would have recorded, had it run from `host.start` to `host.end` only and then
/// waited for the GPU until `gpu_end`: host events that begin within, those around the beginning,
/// and GPU tasks that begin from `host.start` to `gpu_end`, but those launched after the stretch.
/// Tasks launched before it have no launch, as in any recording that begins while the GPU works.
///
/// Processes, threads, devices and streams keep their numbers, strings do not. Arrows, counters,
/// memory events and instants are left out.
///
/// REQUIRES: `store` is frozen. O(events of the stretch + tables of tracks + strings).
std::unique_ptr<TraceStore> Slice(const TraceStore& store, Interval host, TimeNs gpu_end);

/// Rows of a thread's host events that begin in an interval, [first, last).
TraceStore::RowRange HostEventsWithin(const TraceStore& store, ThreadId thread, Interval interval);

}  // namespace headroom
