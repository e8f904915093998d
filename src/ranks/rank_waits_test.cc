#include "ranks/rank_waits.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace rank_waits_test {

JobWaits Measure(const RankBuilder& job) {
  return MeasureWaits(job.ranks(), AlignRanks(job.ranks()));
}

/// Steps of 1 ms with one all-reduce. In step s, rank `late(s)` arrives `by_us` after the others.
template <typename Late>
RankBuilder Steps(std::size_t ranks, int steps, double by_us, Late late) {
  RankBuilder job(ranks);
  for (std::size_t r = 1; r < ranks; ++r) job.Clock(r, 1e6 * static_cast<double>(r));
  for (int step = 0; step < steps; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    std::vector<double> arrivals(ranks, at + 500);
    arrivals[late(step)] += by_us;
    job.AllReduce(arrivals, at + 500 + by_us + 100);
  }
  return job;
}

TEST(RankWaitsTest, TheCulpritIsWhoComesLastAndTheVictimsWait) {
  const JobWaits waits = Measure(Steps(4, 5, 200, [](int) { return 2; }));
  EXPECT_EQ(waits.pattern, StragglerPattern::kRecurrent);
  EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{2});
  EXPECT_EQ(waits.lost.ns(), 5 * 200'000);
  EXPECT_NEAR(*waits.lost_share, 0.2, 1e-9);
  EXPECT_EQ(waits.ranks[2].caused.ns(), 5 * 200'000);
  EXPECT_EQ(waits.ranks[2].waited.ns(), 0);
  EXPECT_EQ(waits.ranks[2].culprit, 5);
  for (const std::size_t victim : {0u, 1u, 3u}) {
    EXPECT_EQ(waits.ranks[victim].waited.ns(), 5 * 200'000);
    EXPECT_EQ(waits.ranks[victim].caused.ns(), 0);
  }
}

TEST(RankWaitsTest, RanksWaitForTheLastInEachStep) {
  const JobWaits waits = Measure(Steps(3, 4, 200, [](int step) { return step % 2; }));
  // Ranks 0 and 1 are last in turn; rank 2 waits each time.
  ASSERT_EQ(waits.pairs.size(), 4u);
  for (const RankPairWaits& pair : waits.pairs) {
    EXPECT_LT(pair.last, 2u);
    EXPECT_NE(pair.waiting, pair.last);
    EXPECT_EQ(pair.waited.ns(), 2 * 200'000);
    EXPECT_EQ(pair.collectives, 2);
  }
  ASSERT_EQ(waits.steps_of_ranks.size(), 4u * 3u);
  std::vector<RankWaits> sums(3);
  for (const RankStepWaits& row : waits.steps_of_ranks) {
    EXPECT_EQ(row.waited.ns(), row.rank == static_cast<std::size_t>(row.step % 2) ? 0 : 200'000);
    EXPECT_EQ(row.caused.ns(), row.rank == static_cast<std::size_t>(row.step % 2) ? 200'000 : 0);
    sums[row.rank].waited += row.waited;
    sums[row.rank].caused += row.caused;
  }
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    EXPECT_EQ(sums[rank].waited, waits.ranks[rank].waited);
    EXPECT_EQ(sums[rank].caused, waits.ranks[rank].caused);
  }
}

TEST(RankWaitsTest, AnotherOneEachTime) {
  const JobWaits waits = Measure(Steps(4, 8, 200, [](int step) { return step % 4; }));
  EXPECT_EQ(waits.pattern, StragglerPattern::kRotating);
  EXPECT_TRUE(waits.stragglers.empty());
}

TEST(RankWaitsTest, AHiccupIsNoPattern) {
  RankBuilder job(2);
  for (int step = 0; step < 5; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    job.AllReduce({at + 500, at + (step == 3 ? 800 : 500)}, at + 900);
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.pattern, StragglerPattern::kOnce);
  EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{1});
}

TEST(RankWaitsTest, StepsThatLoseLittleDoNotHideAPattern) {
  RankBuilder job(3);
  for (int step = 0; step < 9; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    // Rank 2 is late in three steps; in the others, rank 0 or 1 is by 0.5 % of the step.
    std::vector<double> arrivals(3, at + 500);
    if (step % 3 == 0)
      arrivals[2] += 200;
    else
      arrivals[static_cast<std::size_t>(step) % 2] += 5;
    job.AllReduce(arrivals, at + 800);
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.pattern, StragglerPattern::kRecurrent);
  EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{2});
  EXPECT_EQ(waits.ranks[2].culprit, 3);
  EXPECT_EQ(waits.ranks[0].culprit + waits.ranks[1].culprit, 0);
}

/// Stages of two pipelines, ranks 0 to 1 and 2 to 3: `slow` computes 300 us longer, its neighbour
/// waits for it in a receive, and then all ranks share an all-reduce.
RankBuilder Pipelines(std::size_t slow) {
  RankBuilder job(4);
  for (int step = 0; step < 6; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const bool late_pair = rank / 2 == slow / 2;
      const double begin = at + 200 + (rank == slow ? 300 : 0),
                   end = at + 250 + (late_pair ? 300 : 0);
      job.Record(rank, rank % 2 == 0 ? "send" : "recv", begin, end);
    }
    std::vector<double> arrivals(4, at + 400);
    arrivals[slow] += 300;
    arrivals[slow ^ 1] += 300;
    job.AllReduce(arrivals, at + 800);
  }
  return job;
}

TEST(RankWaitsTest, ARankThatWaitsForANeighbourIsNotBlamed) {
  for (const std::size_t slow : {0u, 1u, 3u}) {
    const JobWaits waits = Measure(Pipelines(slow));
    EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{slow});
    EXPECT_EQ(waits.ranks[slow].caused.ns(), 6 * 300'000);
    EXPECT_EQ(waits.ranks[slow ^ 1].caused.ns(), 0);
    EXPECT_EQ(waits.lost.ns(), 6 * 300'000);
  }
}

TEST(RankWaitsTest, ASendDuringTheCollectiveIsNoExcuse) {
  RankBuilder job(4);
  for (int step = 0; step < 6; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    // Rank 2 computes 300 us longer. Its send and receive begin just before the all-reduce.
    for (const char* kind : {"send", "recv"}) job.Record(2, kind, at + 690, at + 990);
    job.AllReduce({at + 400, at + 400, at + 700, at + 400}, at + 800);
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{2});
  EXPECT_EQ(waits.ranks[2].caused.ns(), 6 * 290'000);  // Both took the same 10 us.
}

TEST(RankWaitsTest, AHiddenWaitIsNoExcuse) {
  RankBuilder job(4);
  for (int step = 0; step < 6; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    // Rank 2 waits 300 us for rank 3 in another group while it computes, and then comes last.
    job.AllReduce({-1, -1, at + 100, at + 400}, at + 410);
    for (const std::size_t r : {2u, 3u}) {
      RankCollective& other = job.rank(r).collectives.back();
      other.group = "23";
      other.members = 2;
      if (r == 2) other.hidden = other.end - other.start;
    }
    job.AllReduce({at + 400, at + 400, at + 700, at + 420}, at + 800);
  }
  EXPECT_EQ(Measure(job).stragglers, std::vector<std::size_t>{2});
}

TEST(RankWaitsTest, NobodyIsNamedForLess) {
  EXPECT_EQ(Measure(Steps(4, 5, 5, [](int) { return 2; })).pattern, StragglerPattern::kNone);
}

TEST(RankWaitsTest, NoClaimBelowWhatTheClocksTell) {
  RankBuilder job = Steps(2, 8, 50, [](int) { return 1; });
  // The ends are 100 us apart, alternately in either direction.
  for (std::size_t c = 0; c < 8; ++c)
    job.rank(1).collectives[c].end += DurationNs(c % 2 == 0 ? 100'000 : -100'000);
  const JobWaits waits = Measure(job);
  EXPECT_GE(waits.uncertainty.ns(), 100'000);
  EXPECT_EQ(waits.pattern, StragglerPattern::kNone);
  EXPECT_EQ(waits.lost.ns(), 0);
  EXPECT_EQ(waits.ranks[0].waited.ns(), 0);
}

TEST(RankWaitsTest, SeveralMayBeEquallyLate) {
  RankBuilder job(8);
  for (int step = 0; step < 6; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    std::vector<double> arrivals(8, at + 500);
    // One slow machine has three ranks. A different one of them is last in each step.
    for (int r = 5; r < 8; ++r) arrivals[static_cast<std::size_t>(r)] += 200 + (r + step) % 3;
    job.AllReduce(arrivals, at + 900);
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.pattern, StragglerPattern::kRecurrent);
  EXPECT_EQ(waits.stragglers, (std::vector<std::size_t>{5, 6, 7}));
  EXPECT_EQ(waits.lost.ns(), 6 * 202'000);  // The lost time counts once, not once per late rank.
}

TEST(RankWaitsTest, AVictimIsNoCulpritInItsNextGroup) {
  RankBuilder job(4);
  for (int step = 0; step < 6; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    for (int c = 0; c < 4; ++c) job.AllReduce({at + 10, at + 10, at + 10, at + 10}, at + 20 + c);
    // Rank 0 arrives late at the collective with rank 1. Rank 1 is therefore late at the collective
    // with rank 3. No other rank is late.
    job.AllReduce({at + 400, at + 100, -1, -1}, at + 410);
    job.AllReduce({-1, at + 420, -1, at + 110}, at + 430);
    for (const std::size_t r : {0u, 1u}) {
      auto& own = job.rank(r).collectives;
      RankCollective& first = own[own.size() - 1 - r];
      first.group = "01";
      first.members = 2;
    }
    for (const std::size_t r : {1u, 3u}) {
      job.rank(r).collectives.back().group = "13";
      job.rank(r).collectives.back().members = 2;
    }
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.stragglers, std::vector<std::size_t>{0});
  EXPECT_EQ(waits.ranks[0].caused.ns(), 6 * 300'000);
  EXPECT_LE(waits.ranks[1].caused.ns(), 6 * 10'000);
  EXPECT_EQ(waits.lost.ns(), 6 * 320'000);  // From 100 to 420, although two groups wait.
}

TEST(RankWaitsTest, SendsAndBroadcastsHoldNobodyUp) {
  RankBuilder job = Steps(4, 5, 200, [](int) { return 2; });
  for (std::size_t r = 0; r < 4; ++r) {
    for (RankCollective& collective : job.rank(r).collectives) collective.kind = "broadcast";
  }
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.pattern, StragglerPattern::kNone);
  EXPECT_EQ(waits.other_kinds, 5);
}

TEST(RankWaitsTest, WithoutStepsThereIsNoPattern) {
  RankBuilder job(2);
  for (int c = 0; c < 5; ++c) job.AllReduce({1000.0 * c, 1000.0 * c + 300}, 1000.0 * c + 400);
  const JobWaits waits = Measure(job);
  EXPECT_EQ(waits.pattern, StragglerPattern::kNone);
  EXPECT_FALSE(waits.lost_share);
  EXPECT_EQ(waits.ranks[1].caused.ns(), 5 * 300'000);
}

TEST(RankWaitsTest, WaitAndTransferOfEachClass) {
  const JobWaits waits = Measure(Steps(4, 5, 200, [](int) { return 2; }));
  ASSERT_EQ(waits.classes.size(), 1u);
  const CollectiveClass& row = waits.classes.front();
  EXPECT_EQ(row.count, 5);
  EXPECT_EQ(row.ranks, 4);
  EXPECT_EQ(row.wait.ns(), 200'000);
  EXPECT_EQ(row.transfer.ns(), 100'000);
  // Three ranks spin for 300 us, the last for 100 us.
  EXPECT_EQ(row.exposed.ns(), (3 * 300'000 + 100'000) / 4);
  EXPECT_DOUBLE_EQ(*row.algorithm_gbs, 1e6 / 1e5);
  EXPECT_DOUBLE_EQ(*row.bus_gbs, 10 * 2 * 3.0 / 4);
}

TEST(RankWaitsTest, AClockThatIsNotKnownTellsNothing) {
  RankBuilder job(2);
  job.Step(0, 0, 1000).AllReduce({100, 500}, 600);
  const JobWaits waits = Measure(job);
  EXPECT_TRUE(waits.classes.empty());
  EXPECT_EQ(waits.pattern, StragglerPattern::kNone);
}

TEST(RankWaitsTest, WaitsBelowWhatTheClocksTellAreNone) {
  RankBuilder job = Steps(2, 8, 50, [](int) { return 1; });
  for (std::size_t c = 0; c < 8; ++c)
    job.rank(1).collectives[c].end += DurationNs(c % 2 == 0 ? 100'000 : -100'000);
  const JobWaits waits = Measure(job);
  ASSERT_EQ(waits.classes.size(), 1u);
  EXPECT_EQ(waits.classes.front().wait.ns(), 0);
}

TEST(RankWaits, LostIsWhatTheCollectiveExposes) {
  // Rank 1 arrives 200 us late, and the transfer takes 100 us. Rank 0 computes for 150 us, so 150
  // of 300 us are exposed. Without the delay, none would be.
  RankBuilder b(2);
  for (int step = 0; step < 3; ++step) {
    b.Step(step, 1000.0 * step, 1000)
        .AllReduce({1000.0 * step + 100, 1000.0 * step + 300}, 1000.0 * step + 400);
    b.rank(0).collectives.back().hidden = DurationNs(150'000);
  }
  const JobWaits waits = MeasureWaits(b.ranks(), AlignRanks(b.ranks()));
  EXPECT_EQ(waits.lost.ns(), 3 * 150'000);
  EXPECT_EQ(waits.ranks[1].caused.ns(), 3 * 150'000);
  EXPECT_EQ(waits.ranks[0].waited.ns(), 3 * 200'000);
}

}  // namespace rank_waits_test
}  // namespace headroom
