#include "capture/metrics/board/metric_board.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>

#include "capture/metrics/board/sample_interval.h"
#include "capture/metrics/board/ticker.h"

namespace headroom {
namespace metric_board_test {

constexpr std::int64_t kSecond = 1'000'000'000;

TimeNs At(double seconds) { return TimeNs(static_cast<std::int64_t>(seconds * kSecond)); }

TEST(MetricBoard, FirstRateIsMissingAndLaterOnesUseTheTimeThatPassed) {
  MetricBoard board;
  const auto id = board.AddRate({.name = "x", .unit = "bytes/s", .counter = "x_bytes"},
                                {.rate_scale = 512, .total_scale = 512});
  board.Begin();
  board.Count(id, At(1), 100);
  EXPECT_TRUE(std::isnan(board.reading().values[id])) << "missing, not 0";
  EXPECT_EQ(board.reading().totals[id], 51200);
  board.Begin();
  board.Count(id, At(3.5), 150);
  EXPECT_DOUBLE_EQ(board.reading().values[id], 50 * 512 / 2.5);
}

TEST(MetricBoard, ACounterThatWentBackwardsIsMissing) {
  MetricBoard board;
  const auto id = board.AddRate({.name = "x"});
  board.Begin();
  board.Count(id, At(1), 100);
  board.Begin();
  board.Count(id, At(2), 40);
  EXPECT_TRUE(std::isnan(board.reading().values[id]));
  board.Begin();
  board.Count(id, At(3), 50);
  EXPECT_DOUBLE_EQ(board.reading().values[id], 10) << "counts from its restart";
}

TEST(MetricBoard, AWrapOfKnownWidthCounts) {
  MetricBoard board;
  const auto id = board.AddRate({.name = "x", .counter = "y"}, {.wraps_at = 1000});
  board.Begin();
  board.Count(id, At(1), 990);
  board.Begin();
  board.Count(id, At(2), 15);
  EXPECT_DOUBLE_EQ(board.reading().values[id], 25);
  EXPECT_DOUBLE_EQ(board.reading().totals[id], 1015) << "the total does not wrap";
  board.Begin();
  EXPECT_TRUE(std::isnan(board.reading().values[id])) << "no count in this sample";
}

TEST(MetricBoard, NoTimeNoRate) {
  MetricBoard board;
  const auto id = board.AddRate({.name = "x"});
  board.Begin();
  board.Count(id, At(1), 1);
  board.Begin();
  board.Count(id, At(1), 2);
  EXPECT_TRUE(std::isnan(board.reading().values[id]));
}

TEST(MetricBoard, WhatIsNotFiniteIsMissing) {
  MetricBoard board;
  const auto id = board.AddGauge({.name = "x"});
  board.Begin();
  board.Set(id, INFINITY);
  EXPECT_TRUE(std::isnan(board.reading().values[id]));
}

TEST(MetricBoard, DroppingRatesKeepsStates) {
  MetricBoard board;
  const auto rate = board.AddRate({.name = "rate"});
  const auto share = board.AddShare({.name = "share"});
  const auto gauge = board.AddGauge({.name = "gauge"});
  const auto total = board.AddTotal({.name = "total"}, 2);
  for (const double at : {1.0, 2.0}) {
    board.Begin();
    board.Count(rate, At(at), 5);
    board.Count(total, At(at), 21);
    board.Set(share, 50);
    board.Set(gauge, 1);
  }
  board.DropRates();
  EXPECT_TRUE(std::isnan(board.reading().values[rate]));
  EXPECT_TRUE(std::isnan(board.reading().values[share]));
  EXPECT_EQ(board.reading().values[gauge], 1);
  EXPECT_EQ(board.reading().values[total], 42);
}

TEST(CounterSum, ANewcomerAddsNothingAndOneThatWentBackwardsMakesItUnknown) {
  CounterSum sum;
  sum.Add(std::nullopt, 100);
  sum.Add(std::nullopt, 50);
  EXPECT_EQ(sum.Take(), 150u) << "the first sample gives the level";
  sum.Add(100, 110);
  sum.Add(std::nullopt, 1'000'000);
  EXPECT_EQ(sum.Take(), 160u);
  sum.Add(110, 5);
  EXPECT_EQ(sum.Take(), std::nullopt);
  sum.Add(5, 6);
  EXPECT_EQ(sum.Take(), 161u);
}

RC_GTEST_PROP(MetricBoard, RatesTimesIntervalsAreTheIncrease, ()) {
  MetricBoard board;
  const auto id = board.AddRate({.name = "x"});
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 1'000'000), rc::gen::inRange(0, 1'000'000)));
  std::uint64_t count = 7;
  std::int64_t now = 0;
  board.Begin();
  board.Count(id, TimeNs(now), count);
  double sum = 0;
  for (const auto& [microseconds, grown] : steps) {
    now += std::int64_t{microseconds} * 1000;
    count += static_cast<std::uint64_t>(grown);
    board.Begin();
    board.Count(id, TimeNs(now), count);
    sum += board.reading().values[id] * microseconds / 1e6;
  }
  RC_ASSERT(std::abs(sum - static_cast<double>(count - 7)) <= 1e-6 * static_cast<double>(count));
}

TEST(Ticker, KeepsItsGridAndLeavesOutWhatWasMissed) {
  Ticker ticker(TimeNs(0), DurationNs(100));
  EXPECT_EQ(ticker.next().ns(), 100);
  ticker.Advance(TimeNs(99));
  EXPECT_EQ(ticker.next().ns(), 100) << "not reached yet";
  ticker.Advance(TimeNs(103));
  EXPECT_EQ(ticker.next().ns(), 200) << "no drift although the sample was 3 late";
  ticker.Advance(TimeNs(751));
  EXPECT_EQ(ticker.next().ns(), 800) << "no burst";
  ticker.Advance(TimeNs(800));
  EXPECT_EQ(ticker.next().ns(), 900);
}

TEST(SampleInterval, KeepsTheShareOfWhatIsDearDown) {
  SampleInterval pace(/*factor=*/1000, DurationNs(kSecond));
  EXPECT_TRUE(pace.Due(TimeNs(0)));
  pace.Took(TimeNs(0), TimeNs(100'000));
  EXPECT_FALSE(pace.Due(TimeNs(99'000'000)));
  EXPECT_TRUE(pace.Due(TimeNs(100'000'000)));
  pace.Took(TimeNs(100'000'000), TimeNs(900'000'000));
  EXPECT_FALSE(pace.Due(TimeNs(1'099'000'000)));
  EXPECT_TRUE(pace.Due(TimeNs(1'100'000'000))) << "at most the longest interval";
}

}  // namespace metric_board_test
}  // namespace headroom
