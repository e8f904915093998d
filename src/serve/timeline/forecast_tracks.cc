#include "serve/timeline/forecast_tracks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "serve/timeline/track_names.h"

namespace headroom {
namespace {

std::uint32_t StyleOf(SpanStyle style, SpanMark mark) {
  const auto number = static_cast<std::uint32_t>(style);
  switch (mark) {
    case SpanMark::kNone:
      return number;
    case SpanMark::kChanged:
      return number | kStyleChanged;
    case SpanMark::kInserted:
      return number | kStyleInserted;
  }
  return number;
}

/// Returns the spans of each key, with the keys in order of first appearance.
template <typename Key>
std::vector<std::pair<Key, std::vector<TimelineSpan>>> SplitBy(
    const std::vector<TimelineSpan>& spans, Key TimelineSpan::*key) {
  std::vector<std::pair<Key, std::vector<TimelineSpan>>> parts;
  std::map<Key, std::size_t> part_of;
  for (const TimelineSpan& span : spans) {
    const auto [at, is_new] = part_of.emplace(span.*key, parts.size());
    if (is_new) parts.emplace_back(span.*key, std::vector<TimelineSpan>());
    parts[at->second].second.push_back(span);
  }
  return parts;
}

}  // namespace

ForecastTracks::ForecastTracks(const Job& job, const Timeline& timeline) : steps_(timeline.steps) {
  const TraceStore& store = job.store();
  for (const auto& [stream, spans] : SplitBy(timeline.gpu_tasks, &TimelineSpan::stream)) {
    AddSpans(spans, SpanStyle::kCompute,
             {.kind = TrackKind::kStream,
              .name = StreamTitle(store, stream),
              .group = DeviceTitle(store, stream)});
  }
  for (const auto& [channel, spans] : SplitBy(timeline.transfers, &TimelineSpan::channel)) {
    AddSpans(spans, SpanStyle::kCommunication,
             {.kind = TrackKind::kStream,
              .name = timeline.channels[static_cast<std::size_t>(channel)],
              .group = "channels"});
  }
  for (const auto& [thread, spans] : SplitBy(timeline.calls, &TimelineSpan::thread)) {
    AddSpans(spans, SpanStyle::kApiCall,
             {.kind = TrackKind::kThread,
              .name = ThreadTitle(store, thread),
              .group = ProcessTitle(store, thread)});
  }
  set_.FindRange();
  set_.begin = TimeNs(0);
  const auto recorded =
      std::find_if(timeline.calls.begin(), timeline.calls.end(),
                   [](const TimelineSpan& call) { return call.origin != kNoTask; });
  if (recorded != timeline.calls.end()) {
    recorded_begin_ = job.graph().tasks[recorded->origin].start - DurationNs(recorded->start_ns);
  }
}

void ForecastTracks::AddSpans(const std::vector<TimelineSpan>& spans, SpanStyle style,
                              Track track) {
  OwnSpans& own = set_.AddOwn();
  for (const TimelineSpan& span : spans) {
    own.Add(TimeNs(span.start_ns), DurationNs(span.duration_ns), set_.own_names.Intern(span.name),
            StyleOf(style, span.mark));
  }
  own.Seal(set_.own_names, 0);
  std::vector<std::uint32_t> rows(spans.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (own.start[a] != own.start[b]) return own.start[a] < own.start[b];
    return own.duration[a] != own.duration[b] ? own.duration[a] > own.duration[b] : a < b;
  });
  set_.AddLanes(std::move(track), own.table, std::move(rows), DurationNs(),
                [](std::size_t, const std::vector<std::uint32_t>&) { return std::size_t{0}; });
}

}  // namespace headroom
