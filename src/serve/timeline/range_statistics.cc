#include "serve/timeline/range_statistics.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/interval_set.h"

namespace headroom {
namespace {

using Totals = std::unordered_map<std::string_view, NameTotal>;

std::vector<NameTotal> Sorted(Totals& totals) {
  std::vector<NameTotal> rows;
  rows.reserve(totals.size());
  for (auto& [name, total] : totals) rows.push_back(total);
  std::sort(rows.begin(), rows.end(), [](const NameTotal& a, const NameTotal& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  return rows;
}

/// Calls visit(row, length inside) for each span of the lane that overlaps the range.
template <typename Visit>
void EachInside(const Lane& lane, TimeNs from, TimeNs to, const Visit& visit) {
  const SpanTable& table = *lane.table;
  // If spans overlap, an early span may still extend into the range.
  std::size_t at = lane.overlaps ? 0 : lane.FirstEndingBehind(from);
  for (; at < lane.rows.size() && table.start[lane.rows[at]] < to; ++at) {
    const std::uint32_t row = lane.rows[at];
    if (lane.overlaps && table.End(row) <= from) continue;
    visit(row, std::min(to, table.End(row)) - std::max(from, table.start[row]));
  }
}

}  // namespace

RangeStatistics SumRange(const TrackSet& set, TimeNs from, TimeNs to) {
  RangeStatistics result;
  Totals gpu, host;
  for (std::uint32_t number = 0; number < set.tracks.size(); ++number) {
    const Track& track = set.tracks[number];
    if (track.kind != TrackKind::kStream && track.kind != TrackKind::kThread) continue;
    RangeStatistics::StreamTime stream{.track = number};
    std::vector<Interval> busy;
    for (std::uint32_t i = 0; i < track.lanes; ++i) {
      const Lane& lane = set.lanes[track.first_lane + i];
      EachInside(lane, from, to, [&](std::uint32_t row, DurationNs inside) {
        const std::uint32_t style = lane.table->style[row];
        switch (static_cast<SpanStyle>(style & 0xFF)) {
          case SpanStyle::kIdleForHost:
            stream.idle_for_host += inside;
            return;
          case SpanStyle::kIdleForOthers:
            stream.idle_for_others += inside;
            return;
          case SpanStyle::kIdleUnknown:
            stream.idle_unknown += inside;
            return;
          case SpanStyle::kIdleOthersWork:
            stream.idle_others_work += inside;
            return;
          default:
            break;
        }
        const StringId label = lane.table->name[row];
        if (track.has_gpu_ranges && set.ranges_of_threads[label.index()]) return;
        Totals& totals = track.kind == TrackKind::kStream ? gpu : host;
        const std::string_view name = lane.table->names->Get(label);
        NameTotal& total = totals[name];
        total.name = name;
        total.style = style;
        ++total.count;
        total.total += inside;
        const TimeNs begin = std::max(from, lane.table->start[row]);
        busy.push_back({begin, begin + inside});
      });
    }
    if (track.kind != TrackKind::kStream) continue;
    stream.busy = IntervalSet::UnionOf(std::move(busy)).Measure();
    result.streams.push_back(stream);
  }
  result.gpu = Sorted(gpu);
  result.host = Sorted(host);
  return result;
}

}  // namespace headroom
