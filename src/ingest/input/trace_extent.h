// When a trace was, by the starts of its events, and what claims to have run far beyond it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// From the first to the last start of anything in a trace: one wrong duration cannot stretch that.
struct TraceExtent {
  TimeNs first = TimeNs(INT64_MAX), last = TimeNs(INT64_MIN);

  void See(TimeNs start) {
    first = std::min(first, start);
    last = std::max(last, start);
  }
  bool empty() const { return first > last; }
  /// What ends later than this claims too much. A short trace may well end with its longest event.
  /// REQUIRES: not empty.
  TimeNs Limit() const;
};

/// Extends `known` by the starts of an unfrozen trace's GPU tasks and host events, but `other` by
/// those of spans of no known kind.
void SeeStarts(const TraceStore& store, TraceExtent& known, TraceExtent& other);
/// Returns the extent of an unfrozen trace. Spans of no known kind count only where there is
/// nothing else: some profilers draw frames around the trace with stamps of another clock.
TraceExtent ExtentOfStarts(const TraceStore& store);

/// Clips host events that end beyond the limit to the next start on their thread, or to the last
/// start of the trace. Otherwise they would become parents of all later events. Clips waits to the
/// last start of the trace. Does nothing if the extent is empty. REQUIRES: `store` is not frozen.
void ClipOverflowingSpans(const TraceExtent& extent, TraceStore& store);

/// Clips GPU tasks that end beyond the limit to the start of the next task on their stream, or to
/// the last start of the trace. After TraceStore::Freeze(). Nothing where the extent is empty.
void ClipOverflowingTasks(const TraceExtent& extent, TraceStore& store);

}  // namespace headroom
