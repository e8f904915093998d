// Finds the extent of a trace from the starts of its events, and clips events that run far beyond
// it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// The range from the first to the last start in a trace. A single wrong duration cannot stretch
/// it.
struct TraceExtent {
  TimeNs first = TimeNs(INT64_MAX), last = TimeNs(INT64_MIN);

  void See(TimeNs start) {
    first = std::min(first, start);
    last = std::max(last, start);
  }
  bool empty() const { return first > last; }
  /// Returns the latest plausible end of an event. A short trace may well end with its longest
  /// event. Requires a non-empty extent.
  TimeNs Limit() const;
};

/// Extends `known` by the starts of an unfrozen trace's GPU tasks and host events. Extends `other`
/// by the starts of spans of unknown kinds.
void SeeStarts(const TraceStore& store, TraceExtent& known, TraceExtent& other);
/// Returns the extent of an unfrozen trace. Spans of unknown kinds count only if there are no
/// others: some profilers write spans around the whole trace with timestamps of another clock.
TraceExtent ExtentOfStarts(const TraceStore& store);

/// Clips host events that end beyond the limit to the next start on their thread, or to the last
/// start of the trace. Without clipping they would become parents of all later events. Clips waits
/// to the start of the last event. Does nothing if the extent is empty. Requires that `store` is
/// not frozen.
void ClipOverflowingSpans(const TraceExtent& extent, TraceStore& store);

/// Clips GPU tasks that end beyond the limit. The new end is the start of the next task on their
/// stream, or the start of the last event. Call it after TraceStore::Freeze(). Does nothing if the
/// extent is empty.
void ClipOverflowingTasks(const TraceExtent& extent, TraceStore& store);

}  // namespace headroom
