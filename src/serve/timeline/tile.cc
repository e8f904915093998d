#include "serve/timeline/tile.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

/// Returns the hue of a name, in the third byte. Uses FNV-1a, so that a name has the same hue in
/// every trace and forecast.
std::uint32_t HueOf(const SpanTable& table, std::uint32_t row) {
  constexpr std::size_t kEnough = 64;
  std::uint32_t hash = 2166136261u;
  for (const char c : table.names->Get(table.name[row]).substr(0, kEnough))
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return (hash >> 24 ^ (hash >> 16 & 0xFF)) << 16;
}

/// Short spans of one bucket, collected until the next bucket or a long span.
struct Cluster {
  std::int64_t bucket = -1;
  TimeNs begin, end;
  DurationNs busy, longest{-1};
  std::uint32_t row = 0, count = 0;
  double value = 0;
};

class TileMaker {
 public:
  TileMaker(const TrackSet& set, int level, std::int64_t index)
      : set_(set),
        level_(level),
        begin_(set.begin + DurationNs(index * (kTileBuckets << level))),
        end_(begin_ + DurationNs(kTileBuckets << level)) {}

  void AddLane(std::uint32_t number) {
    lane_ = number;
    const Lane& lane = set_.lanes[number];
    const SpanTable& table = *lane.table;
    const Track& track = set_.tracks[lane.track];
    Cluster cluster;
    for (std::size_t i = lane.FirstEndingBehind(begin_); i < lane.rows.size(); ++i) {
      const std::uint32_t row = lane.rows[i];
      const TimeNs start = table.start[row];
      if (start >= end_) break;
      const DurationNs duration = lane.DrawnUntil(i) - start;
      const double value = table.value.empty() ? 0 : table.value[row];
      if (duration.ns() >= (std::int64_t{1} << level_)) {
        Flush(table, cluster, track);
        Add(table, start, start + duration, row, 1, table.value.empty() ? 1 : Share(value, track));
        continue;
      }
      const std::int64_t bucket = (start - begin_).ns() >> level_;
      if (bucket != cluster.bucket) Flush(table, cluster, track);
      if (cluster.count++ == 0) {
        cluster.bucket = bucket;
        cluster.begin = start;
        cluster.value = value;
      }
      cluster.end = start + duration;
      cluster.busy += duration;
      cluster.value = std::max(cluster.value, value);
      if (duration > cluster.longest) {
        cluster.longest = duration;
        cluster.row = row;
      }
    }
    Flush(table, cluster, track);
  }

  Tile Take() { return std::move(tile_); }

 private:
  /// Halves the values, because the difference of two doubles may overflow.
  static double Share(double value, const Track& track) {
    const double height = track.maximum / 2 - track.minimum / 2;
    return height > 0 ? std::clamp((value / 2 - track.minimum / 2) / height, 0.0, 1.0) : 0;
  }

  void Flush(const SpanTable& table, Cluster& cluster, const Track& track) {
    if (cluster.count == 0) return;
    const DurationNs length = cluster.end - cluster.begin;
    double fill = length.ns() > 0 ? std::min(1.0, static_cast<double>(cluster.busy.ns()) /
                                                      static_cast<double>(length.ns()))
                                  : 1;
    if (!table.value.empty()) fill = Share(cluster.value, track);
    Add(table, cluster.begin, cluster.end, cluster.row, cluster.count, fill);
    cluster = Cluster();
  }

  float BucketOf(TimeNs time) const {
    return static_cast<float>(static_cast<double>((time - begin_).ns()) /
                              static_cast<double>(std::int64_t{1} << level_));
  }

  void Add(const SpanTable& table, TimeNs start, TimeNs end, std::uint32_t row, std::uint32_t count,
           double fill) {
    tile_.begin.push_back(BucketOf(start));
    tile_.end.push_back(BucketOf(end));
    tile_.fill.push_back(static_cast<float>(fill));
    tile_.lane.push_back(lane_);
    tile_.row.push_back(row);
    tile_.name.push_back(table.NameNumber(row));
    tile_.style.push_back(table.style[row] | HueOf(table, row));
    tile_.count.push_back(count);
  }

  const TrackSet& set_;
  const int level_;
  const TimeNs begin_, end_;
  std::uint32_t lane_ = 0;
  Tile tile_;
};

}  // namespace

Tile MakeTile(const TrackSet& set, std::span<const std::uint32_t> tracks, int level,
              std::int64_t index) {
  TileMaker maker(set, level, index);
  for (const std::uint32_t number : tracks) {
    const Track& track = set.tracks[number];
    for (std::uint32_t lane = 0; lane < track.lanes; ++lane) maker.AddLane(track.first_lane + lane);
  }
  return maker.Take();
}

}  // namespace headroom
