#include "analysis/graph_capture.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace headroom {

IntervalSet FindGraphCaptures(const TraceStore& store, NameFacts& names) {
  std::vector<Interval> captures;
  const auto& events = store.host_events;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    std::optional<TimeNs> begin;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if (events.kind[row] != HostEventKind::kRuntimeCall &&
          events.kind[row] != HostEventKind::kDriverCall) {
        continue;
      }
      const HostRoles roles = names.Roles(events.name[row]);
      if (roles.Has(HostRole::kCaptureBegin) && !begin) begin = events.start[row];
      if (!roles.Has(HostRole::kCaptureEnd) || !begin) continue;
      captures.push_back({*begin, store.HostEnd(HostEventId(row))});
      begin.reset();
    }
    if (begin) captures.push_back({*begin, TimeNs(INT64_MAX)});
  }
  return IntervalSet::UnionOf(std::move(captures));
}

bool Contains(const IntervalSet& set, TimeNs when) {
  const std::vector<Interval>& intervals = set.intervals();
  const auto after = std::upper_bound(intervals.begin(), intervals.end(), when,
                                      [](TimeNs t, const Interval& i) { return t < i.start; });
  return after != intervals.begin() && when < (after - 1)->end;
}

}  // namespace headroom
