#include "ranks/collective_skew.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace collective_skew_test {

constexpr double kBytes = 1e6;

/// Three ranks whose clocks differ by one second. In each of four steps, ranks 0, 1 and 2 arrive at
/// 500, 600 and 700 us. The all-reduce ends at 900 us.
RankBuilder ThreeRanks() {
  RankBuilder job(3);
  job.Clock(1, 1e6).Clock(2, -1e6);
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000).AllReduce({at + 500, at + 600, at + 700}, at + 900, kBytes);
  }
  return job;
}

CollectiveSkew Measure(const RankBuilder& job, std::size_t rank, std::int64_t members = 3) {
  return MeasureSkew(job.ranks(), AlignRanks(job.ranks()), rank, members);
}

DurationNs WaitOf(const RankBuilder& job, std::size_t rank, std::size_t collective) {
  const RankCollective& of = job.ranks()[rank].collectives[collective];
  return Measure(job, rank).waits.at({of.start, of.end});
}

TEST(CollectiveSkewTest, ARankWaitsFromItsStartToTheLast) {
  const RankBuilder job = ThreeRanks();
  for (std::size_t collective = 0; collective < 4; ++collective) {
    EXPECT_EQ(WaitOf(job, 0, collective).ns(), 200'000);
    EXPECT_EQ(WaitOf(job, 1, collective).ns(), 100'000);
    EXPECT_EQ(WaitOf(job, 2, collective).ns(), 0);
  }
}

TEST(CollectiveSkewTest, AnAllReduceTakesWhatIsLeftWhoeverIsAskedAbout) {
  const RankBuilder job = ThreeRanks();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const CollectiveSkew skew = Measure(job, rank);
    ASSERT_EQ(skew.all_reduces.size(), 4u);
    for (const MeasuredAllReduce& one : skew.all_reduces) {
      EXPECT_EQ(one.bytes, kBytes);
      EXPECT_NEAR(one.ms, 0.2, 1e-9);
    }
  }
}

TEST(CollectiveSkewTest, OfAPartOfTheJobOnlyWaitsAreTold) {
  const CollectiveSkew skew = Measure(ThreeRanks(), 0, 8);
  EXPECT_EQ(skew.waits.size(), 4u);
  EXPECT_TRUE(skew.all_reduces.empty());
}

TEST(CollectiveSkewTest, WhatIsShorterThanTheClocksAreUncertainMeasuresNothing) {
  RankBuilder job = ThreeRanks();
  // Each clock is accurate to 1 us at best.
  job.AllReduce({3950, 3960, 3970}, 3971.5, kBytes);
  job.AllReduce({3980, 3980, 3980}, 3983, kBytes);
  const CollectiveSkew skew = Measure(job, 0);
  EXPECT_EQ(skew.waits.size(), 6u);
  ASSERT_EQ(skew.all_reduces.size(), 5u);
  EXPECT_NEAR(skew.all_reduces.back().ms, 0.003, 1e-9);
}

TEST(CollectiveSkewTest, NobodyWaitsLongerThanTheCollectiveTakes) {
  RankBuilder job = ThreeRanks();
  const Alignment alignment = AlignRanks(job.ranks());
  // Rank 0 leaves before the last rank arrives.
  RankCollective& early = job.rank(0).collectives[1];
  early.end = early.start + DurationNs(190'000);
  const CollectiveSkew skew = MeasureSkew(job.ranks(), alignment, 0, 3);
  EXPECT_EQ(skew.waits.at({early.start, early.end}).ns(), 190'000);
}

TEST(CollectiveSkewTest, ARankByItselfTellsNothing) {
  RankBuilder job = ThreeRanks();
  job.rank(1).collectives.clear();
  const CollectiveSkew skew = Measure(job, 1);
  EXPECT_TRUE(skew.waits.empty());
  EXPECT_TRUE(skew.all_reduces.empty());
}

}  // namespace collective_skew_test
}  // namespace headroom
