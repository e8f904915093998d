#include "analysis/gpu/graph_capture.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace headroom {

std::vector<GraphCapture> ListGraphCaptures(const TraceStore& store, NameFacts& names) {
  std::vector<GraphCapture> captures;
  const auto& events = store.host_events;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const ProcessId process = store.threads.process[t];
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
      captures.push_back({process, {*begin, store.HostEnd(HostEventId(row))}, true});
      begin.reset();
    }
    if (begin) captures.push_back({process, {*begin, TimeNs(INT64_MAX)}, false});
  }
  return captures;
}

IntervalSet FindGraphCaptures(const TraceStore& store, NameFacts& names) {
  std::vector<Interval> times;
  for (const GraphCapture& capture : ListGraphCaptures(store, names)) times.push_back(capture.time);
  return IntervalSet::UnionOf(std::move(times));
}

bool Contains(const IntervalSet& set, TimeNs when) {
  const std::vector<Interval>& intervals = set.intervals();
  const auto after = std::upper_bound(intervals.begin(), intervals.end(), when,
                                      [](TimeNs t, const Interval& i) { return t < i.start; });
  return after != intervals.begin() && when < (after - 1)->end;
}

}  // namespace headroom
