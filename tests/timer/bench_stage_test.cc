// Tests bench_stage with a stage of known times, and its stopping rules.
#include "headroom/bench_stage.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace {

void Spend(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(BenchStage, AStageThatIsKnown) {
  int prepared = 0, called = 0;
  const headroom::stage_times times = headroom::bench_stage(
      "spin",
      [&] {
        ++called;
        Spend(200e-6);
        return called;
      },
      [&] {
        ++prepared;
        Spend(300e-6);  // Not timed.
      },
      {/*seconds=*/0.2, /*precision=*/0});
  EXPECT_EQ(times.name, "spin");
  EXPECT_GE(times.count, 30u);
  EXPECT_EQ(called, prepared);
  EXPECT_EQ(static_cast<std::size_t>(called), times.count + 3);  // Includes the warm-up calls.
  EXPECT_GE(times.min, 200e-6);
  EXPECT_LT(times.p50, 300e-6);
  EXPECT_LE(times.low, times.mean);
  EXPECT_GE(times.high, times.mean);
  EXPECT_LE(times.min, times.p50);
  EXPECT_LE(times.p50, times.p99);
  EXPECT_LE(times.p99, times.max);
}

TEST(BenchStage, StopsWhereItIsPreciseEnoughAndNotBefore) {
  const auto count = [](double precision) {
    return headroom::bench_stage("s", [] { Spend(20e-6); }, {/*seconds=*/0.3, precision}).count;
  };
  const std::size_t imprecise = count(10.0);
  EXPECT_LT(imprecise, 100u);
  EXPECT_GT(count(0.0), 2 * imprecise);
}

TEST(BenchStage, TakesTheFewestCallsHoweverLongTheyAre) {
  headroom::stage_options options;
  options.seconds = 0;
  options.fewest = 7;
  options.warm_up = 0;
  const headroom::stage_times times = headroom::bench_stage(
      "slow", [] { Spend(1e-3); }, options);
  EXPECT_EQ(times.count, 7u);
  EXPECT_LT(times.low, times.mean);
}

TEST(BenchStage, IntervalsWidenWithBatchesThatDiffer) {
  std::vector<double> steady(1000, 1.0), drifting;
  for (int i = 0; i < 1000; ++i) drifting.push_back(1.0 + i / 1000.0);
  EXPECT_EQ(headroom::detail::half_width(steady, 1.0), 0);
  EXPECT_GT(headroom::detail::half_width(drifting, 1.5),
            0.15);  // As wide as for 10 values, not 1000.
}

TEST(BenchStage, IsWrittenInALine) {
  headroom::stage_times times;
  times.name = "decode";
  times.count = 12;
  times.mean = 0.001234;
  times.low = 0.0012;
  times.high = 0.00125;
  times.p50 = 0.0012;
  times.p99 = 0.002;
  EXPECT_EQ(headroom::to_string(times),
            "decode  1.234 ms (1.2 to 1.25), median 1.2, 99 % below 2, 12 calls");
}

}  // namespace
