#include "analysis/loop/own_time.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/loop/regions.h"

namespace headroom {
namespace {

DurationNs Within(Interval time, Interval span) {
  const TimeNs start = std::max(time.start, span.start), end = std::min(time.end, span.end);
  return end > start ? end - start : DurationNs(0);
}

}  // namespace

std::vector<OwnTime> RegionsByOwnTime(const TraceStore& store, NameFacts& names,
                                      const Attribution& attribution, ThreadId thread,
                                      Interval span) {
  const auto& events = store.host_events;
  std::set<HostEventId> marks;  // A step's mark is not a region of the step.
  for (const HostEventId mark : store.steps.event.values()) marks.insert(mark);
  const auto is_other = [&](HostEventId event) {
    return IsRegion(store, names, event) && !marks.contains(event) &&
           attribution.Of(event).phase == Phase::kOther;
  };
  std::map<StringId, OwnTime> found;
  const TraceStore::RowRange rows = store.HostEventsOf(thread);
  for (std::uint32_t row = rows.first; row < rows.last && events.start[row] < span.end; ++row) {
    const HostEventId event(row);
    const DurationNs time = Within({events.start[row], store.HostEnd(event)}, span);
    if (time.ns() == 0) continue;
    if (is_other(event)) {
      OwnTime& of_name = found[events.name[row]];
      of_name.name = events.name[row];
      of_name.own += time;
      ++of_name.count;
    }
    // Regions of one thread may overlap, so one may extend beyond its parent.
    const HostEventId parent = events.parent[row];
    if (!parent.valid() || !is_other(parent)) continue;
    const Interval around = {events.start[parent.index()], store.HostEnd(parent)};
    found[events.name[parent.index()]].own -= Within(
        {std::max(events.start[row], around.start), std::min(store.HostEnd(event), around.end)},
        span);
  }
  std::vector<OwnTime> regions;
  for (const auto& [name, region] : found) {
    if (region.own.ns() > 0) regions.push_back(region);
  }
  std::ranges::stable_sort(regions, std::greater<>(), &OwnTime::own);
  return regions;
}

}  // namespace headroom
