// Time that nested spans subtract from the self time of their parents.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// Computes the time that direct children subtract from a span's self time. Overlaps of children
/// count once, and portions outside the span do not count. So the sum never exceeds the span's
/// length.
class TimeInside {
 public:
  explicit TimeInside(const TraceStore& store) : store_(store) {}

  /// Returns the time that `span` subtracts from the self time of `around`; 0 if `around` is
  /// None().
  ///
  /// Requires spans in order of their rows. `around` is one of the earlier spans.
  DurationNs Enter(HostEventId span, HostEventId around) {
    while (!open_.empty() && open_.back().span != around) open_.pop_back();
    const TimeNs start = store_.host_events.start[span.index()];
    DurationNs lost;
    if (!open_.empty()) {
      const TimeNs from = std::max(start, open_.back().covered);
      const TimeNs to = std::min(store_.HostEnd(span), store_.HostEnd(around));
      if (to > from) {
        lost = to - from;
        open_.back().covered = to;
      }
    }
    open_.push_back({span, start});
    return lost;
  }

 private:
  struct Open {
    HostEventId span;
    TimeNs covered;  ///< Time up to here has been counted.
  };
  const TraceStore& store_;
  std::vector<Open> open_;  ///< Each is nested in the previous one.
};

}  // namespace headroom
