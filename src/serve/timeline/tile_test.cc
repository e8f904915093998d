#include "serve/timeline/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace headroom {
namespace tile_test {

using testing::ElementsAre;
using testing::FloatEq;

struct Drawn {
  TrackSet set;
  StringPool names;
};

/// Spans of one track, in ns: {start, length}.
void Fill(Drawn& drawn, std::vector<std::pair<std::int64_t, std::int64_t>> spans) {
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  OwnSpans& own = drawn.set.AddOwn();
  for (const auto& [start, length] : spans) {
    own.Add(TimeNs(start), DurationNs(length), drawn.names.Intern(std::to_string(length)),
            static_cast<std::uint32_t>(SpanStyle::kCompute));
  }
  own.Seal(drawn.names, 0);
  std::vector<std::uint32_t> rows(spans.size());
  std::iota(rows.begin(), rows.end(), 0u);
  drawn.set.AddLanes({.kind = TrackKind::kStream}, own.table, std::move(rows), DurationNs(),
                     [](std::size_t, const auto&) { return std::size_t{0}; });
  drawn.set.FindRange();
}

Tile All(const Drawn& drawn, int level, std::int64_t index) {
  const std::uint32_t tracks[] = {0};
  return MakeTile(drawn.set, tracks, level, index);
}

TEST(Tile, LongSpansStandForThemselvesAndShortOnesShareABucket) {
  Drawn drawn;
  // Buckets of 16 ns: 0-15, 16-31, 32-...
  Fill(drawn, {{0, 4}, {6, 2}, {12, 3}, {17, 1}, {40, 20}});
  const Tile tile = All(drawn, 4, 0);
  EXPECT_THAT(tile.count, ElementsAre(3, 1, 1));
  EXPECT_THAT(tile.begin, ElementsAre(FloatEq(0), FloatEq(17 / 16.F), FloatEq(2.5)));
  EXPECT_THAT(tile.end, ElementsAre(FloatEq(15 / 16.F), FloatEq(18 / 16.F), FloatEq(3.75)));
  // The spans cover 9 of 15 ns. The longest one gives the name.
  EXPECT_THAT(tile.fill, ElementsAre(FloatEq(0.6F), FloatEq(1), FloatEq(1)));
  EXPECT_EQ(drawn.names.Get(StringId(tile.name[0])), "4");
}

TEST(Tile, ASpanIsInEachTileThatItReaches) {
  Drawn drawn;
  Fill(drawn, {{0, 1}, {10, 2000}, {2020, 3}});
  EXPECT_THAT(All(drawn, 0, 1).begin, ElementsAre(FloatEq(10 - 512)));
  EXPECT_THAT(All(drawn, 0, 3).begin, ElementsAre(FloatEq(10 - 3 * 512), FloatEq(2020 - 3 * 512)));
  EXPECT_THAT(All(drawn, 0, 4).begin, ElementsAre());
}

TEST(Tile, SpansOfNoFreeLaneShareTheLastAndNoneIsDrawnOverAnother) {
  Drawn drawn;
  constexpr std::int64_t kSpans = 600, kLength = 10'000;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::int64_t i = 0; i < kSpans; ++i) spans.emplace_back(i, kLength - i % 7);
  Fill(drawn, spans);
  const Track& track = drawn.set.tracks.front();
  EXPECT_EQ(track.lanes, kMaxLanes);
  EXPECT_EQ(track.spans, kSpans);
  EXPECT_EQ(track.overlapping, kSpans - static_cast<std::int64_t>(kMaxLanes));
  EXPECT_FALSE(drawn.set.lanes.front().overlaps);
  EXPECT_EQ((drawn.set.end - drawn.set.begin).ns(), kSpans - 1 + kLength - (kSpans - 1) % 7);
  const Tile tile = All(drawn, 0, 1);
  for (std::size_t i = 1; i < tile.size(); ++i) {
    if (tile.lane[i] != tile.lane[i - 1]) continue;
    EXPECT_LE(tile.end[i - 1], tile.begin[i]);
  }
  EXPECT_EQ(std::count(tile.lane.begin(), tile.lane.end(), kMaxLanes - 1), 88);
}

TEST(Tile, ACounterFillsAsItsLargestValueDoes) {
  Drawn drawn;
  OwnSpans& own = drawn.set.AddOwn();
  const StringId name = drawn.names.Intern("bytes");
  for (const auto& [at, value] : {std::pair(0, 5.0), std::pair(4, 20.0), std::pair(8, 10.0)}) {
    own.Add(TimeNs(at), DurationNs(4), name, static_cast<std::uint32_t>(SpanStyle::kCounter));
    own.value.push_back(value);
  }
  own.Seal(drawn.names, 0);
  drawn.set.AddLanes({.kind = TrackKind::kCounter, .maximum = 20}, own.table, {0, 1, 2},
                     DurationNs(), [](std::size_t, const auto&) { return std::size_t{0}; });
  drawn.set.FindRange();
  EXPECT_THAT(All(drawn, 4, 0).fill, ElementsAre(FloatEq(1)));
  EXPECT_THAT(All(drawn, 0, 0).fill, ElementsAre(FloatEq(0.25), FloatEq(1), FloatEq(0.5)));
}

TEST(Tile, ACounterBelowZeroFillsFromItsMinimum) {
  Drawn drawn;
  OwnSpans& own = drawn.set.AddOwn();
  const StringId name = drawn.names.Intern("loss");
  for (const auto& [at, value] : {std::pair(0, -4.0), std::pair(4, -1.0), std::pair(8, 12.0)}) {
    own.Add(TimeNs(at), DurationNs(4), name, static_cast<std::uint32_t>(SpanStyle::kCounter));
    own.value.push_back(value);
  }
  own.Seal(drawn.names, 0);
  drawn.set.AddLanes({.kind = TrackKind::kCounter, .minimum = -4, .maximum = 12}, own.table,
                     {0, 1, 2}, DurationNs(),
                     [](std::size_t, const auto&) { return std::size_t{0}; });
  drawn.set.FindRange();
  EXPECT_THAT(All(drawn, 0, 0).fill, ElementsAre(FloatEq(0), FloatEq(3 / 16.F), FloatEq(1)));
  EXPECT_THAT(All(drawn, 3, 0).fill, ElementsAre(FloatEq(3 / 16.F), FloatEq(1)));
}

/// At every level, each span counts once, in the tile where it begins. Rectangles cover as much
/// time as their spans.
RC_GTEST_PROP(Tile, KeepsAllSpans, ()) {
  const auto spans = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(rc::gen::pair(
          rc::gen::inRange<std::int64_t>(0, 5000), rc::gen::inRange<std::int64_t>(0, 900))));
  Drawn drawn;
  Fill(drawn, spans);
  const int level = *rc::gen::inRange(0, 12);
  const std::int64_t tile_ns = kTileBuckets << level;
  std::uint64_t begun = 0;
  double covered = 0;
  for (std::int64_t index = 0; index * tile_ns <= 6000; ++index) {
    const Tile tile = All(drawn, level, index);
    for (std::size_t i = 0; i < tile.size(); ++i) {
      if (tile.begin[i] < 0) continue;
      begun += tile.count[i];
      covered += static_cast<double>(tile.end[i] - tile.begin[i]) * tile.fill[i] *
                 static_cast<double>(std::int64_t{1} << level);
    }
  }
  RC_ASSERT(begun == spans.size());
  double total = 0;
  for (const auto& [start, length] : spans) total += static_cast<double>(length);
  RC_ASSERT(std::abs(covered - total) <= 1e-3 * total + 0.1);
}

/// No spans overlap on a lane, and each span is on one lane.
RC_GTEST_PROP(TrackSet, LanesHoldEachSpanOnceWithoutOverlap, ()) {
  const auto spans = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(rc::gen::pair(
          rc::gen::inRange<std::int64_t>(0, 100), rc::gen::inRange<std::int64_t>(0, 30))));
  Drawn drawn;
  Fill(drawn, spans);
  std::size_t count = 0;
  for (const Lane& lane : drawn.set.lanes) {
    count += lane.rows.size();
    for (std::size_t i = 1; i < lane.rows.size(); ++i)
      RC_ASSERT(lane.table->End(lane.rows[i - 1]) <= lane.table->start[lane.rows[i]]);
  }
  RC_ASSERT(count == spans.size());
}

}  // namespace tile_test
}  // namespace headroom
