#include "ranks/rank_alignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "ranks/test_ranks.h"

namespace headroom {
namespace rank_alignment_test {

/// Four collectives per step; the last rank arrives last.
void RunSteps(RankBuilder& job, std::size_t ranks, int steps = 4) {
  for (int step = 0; step < steps; ++step) {
    const double at = 10'000.0 * step;
    job.Step(step, at, 10'000);
    for (int c = 0; c < 4; ++c) {
      std::vector<double> arrivals(ranks, at + 1000 * c + 100);
      arrivals.back() += 300;
      job.AllReduce(arrivals, at + 1000 * c + 900, 1e6 * (c + 1));
    }
  }
}

TEST(RankAlignmentTest, ClocksHoursApart) {
  RankBuilder job(3);
  job.Clock(1, 7.2e9).Clock(2, -4321.5);
  RunSteps(job, 3);
  const Alignment alignment = AlignRanks(job.ranks());
  EXPECT_EQ(alignment.collectives.size(), 16u);
  EXPECT_EQ(alignment.unmatched, 0u);
  EXPECT_EQ(alignment.clocks[1].offset_ns, 7'200'000'000'000);
  EXPECT_EQ(alignment.clocks[2].offset_ns, -4'321'500);
  for (const RankClock& clock : alignment.clocks) {
    EXPECT_TRUE(clock.aligned);
    EXPECT_LE(clock.uncertainty, kStampsAreWithin);
  }
}

TEST(RankAlignmentTest, ClocksThatRunAtDifferentSpeeds) {
  RankBuilder job(2);
  job.Clock(1, 500, 50e-6);
  RunSteps(job, 2, 100);  // One second: the clocks differ by 50 us at its end.
  const RankClock clock = AlignRanks(job.ranks()).clocks[1];
  EXPECT_NEAR(clock.drift, 50e-6, 1e-8);
  EXPECT_EQ(clock.uncertainty, kStampsAreWithin);
}

TEST(RankAlignmentTest, TooFewCollectivesAlignNothing) {
  RankBuilder job(2);
  job.Step(0, 0, 1000).AllReduce({1, 2}, 10).AllReduce({20, 21}, 30);
  const Alignment alignment = AlignRanks(job.ranks());
  EXPECT_EQ(alignment.collectives.size(), 2u);
  EXPECT_FALSE(alignment.clocks[1].aligned);
}

TEST(RankAlignmentTest, StepsThatOneRankLacksAreNotJoined) {
  RankBuilder job(2);
  RunSteps(job, 2);
  // Rank 1 starts recording a step later, and lost the end of the last step.
  auto& late = job.rank(1).collectives;
  late.erase(late.begin(), late.begin() + 4);
  late.pop_back();
  const Alignment alignment = AlignRanks(job.ranks());
  // Steps 1 and 2 match completely. Step 3 does not, because it is unknown which collective is
  // missing.
  EXPECT_EQ(alignment.collectives.size(), 8u);
  EXPECT_EQ(alignment.unmatched, 11u);
  EXPECT_TRUE(alignment.clocks[1].aligned);
  for (const MatchedCollective& collective : alignment.collectives) {
    const auto& parts = collective.parts;
    EXPECT_EQ(job.ranks()[0].collectives[parts[0].collective].end,
              job.ranks()[1].collectives[parts[1].collective].end);
  }
}

TEST(RankAlignmentTest, OtherSizesAreOtherCollectives) {
  RankBuilder job(2);
  RunSteps(job, 2);
  job.rank(1).collectives[5].bytes = 7;
  EXPECT_EQ(AlignRanks(job.ranks()).collectives.size(), 15u);
}

TEST(RankAlignmentTest, WhatDidNotEndTogetherIsNotJoined) {
  RankBuilder job(2);
  RunSteps(job, 2, 10);
  // In step 2, each rank lost a different collective of equal size.
  for (std::size_t r = 0; r < 2; ++r) {
    for (RankCollective& collective : job.rank(r).collectives) collective.bytes = 1e6;
    job.rank(r).collectives.erase(job.rank(r).collectives.begin() + 8 + 3 * static_cast<int>(r));
  }
  const Alignment alignment = AlignRanks(job.ranks());
  EXPECT_EQ(alignment.misfits, 3u);
  EXPECT_EQ(alignment.clocks[1].uncertainty, kStampsAreWithin);
}

TEST(RankAlignmentTest, WithoutStepsOrderTellsOnlyOfAsMany) {
  RankBuilder job(2);
  for (int c = 0; c < 5; ++c) job.AllReduce({100.0 * c, 100.0 * c}, 100.0 * c + 50);
  EXPECT_EQ(AlignRanks(job.ranks()).collectives.size(), 5u);
  job.rank(1).collectives.pop_back();
  EXPECT_EQ(AlignRanks(job.ranks()).collectives.size(), 0u);
}

TEST(RankAlignmentTest, AGroupOfFewerThanHaveItsNameIsNotKnown) {
  RankBuilder job(3);
  RunSteps(job, 3);
  for (std::size_t r = 0; r < 3; ++r) {
    for (RankCollective& collective : job.rank(r).collectives) collective.members = 2;
  }
  EXPECT_EQ(AlignRanks(job.ranks()).collectives.size(), 0u);
}

TEST(RankAlignmentTest, ByWayOfOthers) {
  RankBuilder job(3);
  job.Clock(1, 100).Clock(2, 1000);
  RunSteps(job, 3);
  // Pipeline stages: 0 and 1 share a group, 1 and 2 share another.
  for (std::size_t r = 0; r < 3; ++r) {
    auto& own = job.rank(r).collectives;
    for (std::size_t c = 0; c < own.size(); ++c) {
      own[c].group = c % 4 < 2 ? "01" : "12";
      own[c].members = 2;
    }
    std::erase_if(own, [&](const RankCollective& collective) {
      return (r == 0 && collective.group == "12") || (r == 2 && collective.group == "01");
    });
  }
  const Alignment alignment = AlignRanks(job.ranks());
  // Rank 1 shares collectives with both.
  for (const RankClock& clock : alignment.clocks) EXPECT_EQ(clock.root, 1u);
  EXPECT_EQ(alignment.clocks[0].offset_ns, -100'000);
  EXPECT_EQ(alignment.clocks[2].offset_ns, 900'000);
}

RC_GTEST_PROP(RankAlignmentProperties, FindsAnyOffsetAndTheNoiseOfTheEnds, ()) {
  RankBuilder job(2);
  const double offset = *rc::gen::inRange(-1'000'000'000, 1'000'000'000);
  job.Clock(1, offset);
  const int noise = *rc::gen::inRange(0, 50);
  for (int step = 0; step < 5; ++step) {
    job.Step(step, 1000.0 * step, 1000);
    for (int c = 0; c < 4; ++c) {
      const double end = 1000.0 * step + 200 * c + 150;
      job.AllReduce({end - 100, end - 90}, end);
      job.rank(1).collectives.back().end +=
          DurationNs(*rc::gen::inRange(-1000 * noise, 1000 * noise + 1));
    }
  }
  const RankClock clock = AlignRanks(job.ranks()).clocks[1];
  RC_ASSERT(clock.aligned);
  const TimeNs middle(2'500'000);
  const DurationNs shift(static_cast<std::int64_t>(1e3 * offset));
  RC_ASSERT(std::abs((clock.Aligned(middle + shift) - middle).ns()) <= 1000 * noise + 1);
  RC_ASSERT(clock.uncertainty.ns() <= std::max<std::int64_t>(1000, 2 * 1000 * noise) + 1);
}

}  // namespace rank_alignment_test
}  // namespace headroom
