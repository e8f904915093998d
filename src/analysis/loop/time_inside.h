// How much of their own time spans lose to those directly inside.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// How much of their own time spans lose to those directly inside. What overlaps is taken once and
/// what lies outside not at all, so no more is lost than there is.
class TimeInside {
 public:
  explicit TimeInside(const TraceStore& store) : store_(store) {}

  /// What `around` loses to the span; 0 where it is none.
  ///
  /// REQUIRES: spans come in order of their rows; `around` was one of them.
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
    TimeNs covered;  ///< Up to here, what is inside was taken.
  };
  const TraceStore& store_;
  std::vector<Open> open_;  ///< Each inside the one before.
};

}  // namespace headroom
