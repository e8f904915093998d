// A trace as drawn: tracks of lanes. Spans of a lane are never drawn on top of each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "base/time.h"
#include "serve/timeline/span_table.h"

namespace headroom {

enum class TrackKind : std::uint8_t { kCriticalPath, kStream, kThread, kCounter };

/// Returns "critical-path", "stream", "thread" or "counter".
std::string_view Name(TrackKind kind);

/// Limit per track, even for a hostile trace, because each span searches for a free lane. Calls in
/// real traces are at most a few hundred levels deep.
inline constexpr std::size_t kMaxLanes = 512;

struct Lane {
  const SpanTable* table = nullptr;
  std::uint32_t track = 0;
  /// In order of start; no span begins before the previous one ends, unless `overlaps`.
  std::vector<std::uint32_t> rows;
  bool overlaps = false;  ///< Holds all spans that found no free lane.

  /// Returns the end of the drawn part of the span at a position in `rows`: the span's end, or if
  /// spans overlap, at most the next span's start.
  TimeNs DrawnUntil(std::size_t position) const;
  /// Returns the position in `rows` of the first span whose drawn part ends after a time. O(log
  /// rows).
  std::size_t FirstEndingBehind(TimeNs time) const;
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name = {};
  std::string group = {};  ///< Process or device.
  std::uint32_t first_lane = 0, lanes = 0;
  std::int64_t spans = 0;
  /// Number of spans for which none of kMaxLanes lanes was free; they are in the last lane.
  std::int64_t overlapping = 0;
  double minimum = 0;           ///< Minimum of a counter's values and zero.
  double maximum = 0;           ///< Maximum of a counter's values and zero.
  std::string unit = {};        ///< Unit of a counter.
  bool has_gpu_ranges = false;  ///< Only GPU ranges, each as long as the GPU work inside.
};

/// Spans that are not in the trace's tables, kept with the tracks that show them.
struct OwnSpans {
  std::vector<TimeNs> start;
  std::vector<DurationNs> duration;
  std::vector<StringId> name;
  std::vector<double> value;
  SpanTable table;

  void Add(TimeNs at, DurationNs length, StringId text, std::uint32_t style);
  /// Call after all spans are added.
  void Seal(const StringPool& names, std::uint32_t first_name);
};

class TrackSet {
 public:
  std::vector<Track> tracks;  ///< In the order in which they are drawn.
  std::vector<Lane> lanes;    ///< Grouped by track.
  /// Range from the first start to the last end.
  TimeNs begin, end;
  StringPool own_names;
  /// By name number: true if threads have ranges of that name, which GPU ranges repeat.
  std::vector<bool> ranges_of_threads;
  /// Adds a table that the set keeps; its address stays valid.
  OwnSpans& AddOwn() { return *own_.emplace_back(std::make_unique<OwnSpans>()); }
  SpanTable& AddTable() { return *tables_.emplace_back(std::make_unique<SpanTable>()); }

  /// Adds a track and returns the lane of each row within the track. The rows must be in order of
  /// start, longest first. Each row gets the first lane that is free at its start, from lane
  /// `at_least` on. If none of kMaxLanes lanes is free, the row gets the last one. O(rows x lanes).
  ///
  /// @param at_least   function of a position in `rows`: number of lanes above that span, such as
  /// those of its parent; called once the lanes of all earlier rows are known
  /// @param tolerance  allowed overlap of spans on a lane
  template <typename AtLeast>
  std::vector<std::uint32_t> AddLanes(Track track, const SpanTable& table,
                                      std::vector<std::uint32_t> rows, DurationNs tolerance,
                                      const AtLeast& at_least);
  /// Adds another lane to the last track.
  void AddLane(const SpanTable& table, std::vector<std::uint32_t> rows);
  /// Sets `begin` and `end` once all lanes are added.
  void FindRange();

 private:
  std::vector<std::unique_ptr<OwnSpans>> own_;
  std::vector<std::unique_ptr<SpanTable>> tables_;
};

template <typename AtLeast>
std::vector<std::uint32_t> TrackSet::AddLanes(Track track, const SpanTable& table,
                                              std::vector<std::uint32_t> rows, DurationNs tolerance,
                                              const AtLeast& at_least) {
  std::vector<std::uint32_t> lane_of(rows.size());
  std::vector<TimeNs> free_at;
  std::vector<std::vector<std::uint32_t>> of_lane;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t row = rows[i];
    std::size_t lane = std::min<std::size_t>(at_least(i, lane_of), kMaxLanes);
    while (lane < free_at.size() && free_at[lane] - tolerance > table.start[row]) ++lane;
    if (lane >= kMaxLanes) {
      lane = kMaxLanes - 1;
      ++track.overlapping;
    }
    if (lane >= free_at.size()) {
      free_at.resize(lane + 1, TimeNs(INT64_MIN / 2));
      of_lane.resize(lane + 1);
    }
    free_at[lane] = std::max(free_at[lane], table.End(row));
    of_lane[lane].push_back(row);
    lane_of[i] = static_cast<std::uint32_t>(lane);
  }
  track.first_lane = static_cast<std::uint32_t>(lanes.size());
  track.lanes = 0;
  track.spans = 0;
  const bool overlaps = track.overlapping > 0;
  tracks.push_back(std::move(track));
  for (std::vector<std::uint32_t>& of : of_lane) AddLane(table, std::move(of));
  if (overlaps) lanes.back().overlaps = true;
  return lane_of;
}

}  // namespace headroom
