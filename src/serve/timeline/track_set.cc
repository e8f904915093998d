#include "serve/timeline/track_set.h"

#include <algorithm>
#include <utility>

namespace headroom {

std::string_view Name(TrackKind kind) {
  switch (kind) {
    case TrackKind::kCriticalPath:
      return "critical-path";
    case TrackKind::kStream:
      return "stream";
    case TrackKind::kThread:
      return "thread";
    case TrackKind::kCounter:
      return "counter";
  }
  return "";
}

TimeNs Lane::DrawnUntil(std::size_t position) const {
  const TimeNs end = table->End(rows[position]);
  if (!overlaps || position + 1 == rows.size()) return end;
  return std::min(end, table->start[rows[position + 1]]);
}

std::size_t Lane::FirstEndingBehind(TimeNs time) const {
  const auto later =
      std::lower_bound(rows.begin(), rows.end(), time,
                       [this](std::uint32_t row, TimeNs at) { return table->start[row] < at; });
  const auto first = static_cast<std::size_t>(later - rows.begin());
  return first > 0 && DrawnUntil(first - 1) > time ? first - 1 : first;
}

void OwnSpans::Add(TimeNs at, DurationNs length, StringId text, std::uint32_t style) {
  start.push_back(at);
  duration.push_back(length);
  name.push_back(text);
  table.style.push_back(static_cast<std::uint16_t>(style));
}

void OwnSpans::Seal(const StringPool& names, std::uint32_t first_name) {
  table.start = start;
  table.duration = duration;
  table.name = name;
  table.value = value;
  table.names = &names;
  table.first_name = first_name;
}

void TrackSet::AddLane(const SpanTable& table, std::vector<std::uint32_t> rows) {
  Track& track = tracks.back();
  track.spans += static_cast<std::int64_t>(rows.size());
  ++track.lanes;
  lanes.push_back({.table = &table,
                   .track = static_cast<std::uint32_t>(tracks.size() - 1),
                   .rows = std::move(rows)});
}

void TrackSet::FindRange() {
  bool first = true;
  for (const Lane& lane : lanes) {
    if (lane.rows.empty()) continue;
    const TimeNs lane_begin = lane.table->start[lane.rows.front()];
    TimeNs lane_end = lane.table->End(lane.rows.back());
    if (lane.overlaps) {
      for (const std::uint32_t row : lane.rows) lane_end = std::max(lane_end, lane.table->End(row));
    }
    begin = first ? lane_begin : std::min(begin, lane_begin);
    end = first ? lane_end : std::max(end, lane_end);
    first = false;
  }
}

}  // namespace headroom
