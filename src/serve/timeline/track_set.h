// A trace as it is drawn: tracks of lanes, on each of which no two spans are drawn at once.
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

/// "critical-path", "stream", "thread", "counter".
std::string_view Name(TrackKind kind);

/// Of a track's spans, whatever a hostile trace asks for: each span looks for a free one. Real ones
/// nest calls some hundred deep.
inline constexpr std::size_t kMaxLanes = 512;

struct Lane {
  const SpanTable* table = nullptr;
  std::uint32_t track = 0;
  /// In order of start; none begins before the last one ends, unless `overlaps`.
  std::vector<std::uint32_t> rows;
  bool overlaps = false;  ///< Takes all that found no lane free.

  /// Until when the span at a position in `rows` is drawn: its end; where spans overlap, no longer
  /// than to the next one's start.
  TimeNs DrawnUntil(std::size_t position) const;
  /// Position in `rows` of the first span that is drawn behind a time. O(log rows).
  std::size_t FirstEndingBehind(TimeNs time) const;
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name = {};
  std::string group = {};  ///< Process or device.
  std::uint32_t first_lane = 0, lanes = 0;
  std::int64_t spans = 0;
  /// Spans that found none of kMaxLanes lanes free; they are in the last of these.
  std::int64_t overlapping = 0;
  double minimum = 0;           ///< Of a counter's values and zero.
  double maximum = 0;           ///< The same.
  std::string unit = {};        ///< Of a counter.
  bool has_gpu_ranges = false;  ///< And nothing else: as long as the GPU work inside takes.
};

/// Columns that no table of a trace has, kept with the tracks that show them.
struct OwnSpans {
  std::vector<TimeNs> start;
  std::vector<DurationNs> duration;
  std::vector<StringId> name;
  std::vector<double> value;
  SpanTable table;

  void Add(TimeNs at, DurationNs length, StringId text, std::uint32_t style);
  /// Once all are added.
  void Seal(const StringPool& names, std::uint32_t first_name);
};

class TrackSet {
 public:
  std::vector<Track> tracks;  ///< In the order in which they are drawn.
  std::vector<Lane> lanes;    ///< By track.
  /// From the first start to the last end.
  TimeNs begin, end;
  StringPool own_names;
  /// By number of a name: threads have ranges of it, which GPU ranges of the name repeat.
  std::vector<bool> ranges_of_threads;
  /// A table that the set keeps; its address stays.
  OwnSpans& AddOwn() { return *own_.emplace_back(std::make_unique<OwnSpans>()); }
  SpanTable& AddTable() { return *tables_.emplace_back(std::make_unique<SpanTable>()); }

  /// Adds a track. The rows must be in order of start, longest first; each gets the first lane
  /// that is free when it begins, no lane before `at_least` of it; where none of kMaxLanes is, the
  /// last. O(rows x lanes).
  ///
  /// @param at_least   by position in `rows`: lanes that stay above a span, e.g. those of what it
  /// is
  ///                   nested in; asked once the lanes of all rows before are known. May be null.
  /// @param tolerance  by which spans of a lane may seem to overlap
  /// Returns the lane of each row, within the track.
  template <typename AtLeast>
  std::vector<std::uint32_t> AddLanes(Track track, const SpanTable& table,
                                      std::vector<std::uint32_t> rows, DurationNs tolerance,
                                      const AtLeast& at_least);
  /// Another lane of the last track.
  void AddLane(const SpanTable& table, std::vector<std::uint32_t> rows);
  /// Fills `begin` and `end` once all lanes are there.
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
