#include "ranks/median_rank.h"

#include <gtest/gtest.h>

#include <vector>

namespace headroom {
namespace median_rank_test {

/// Ranks that compute for these times in each of two steps, in us. All are on the first rank's
/// clock.
JobRanks Computing(const std::vector<std::int64_t>& us) {
  JobRanks job;
  for (std::size_t r = 0; r < us.size(); ++r) {
    RankTimeline& rank = job.ranks.emplace_back();
    rank.rank = static_cast<std::int64_t>(r);
    for (std::int64_t step = 0; step < 2; ++step)
      rank.steps.push_back(
          {.number = step, .start = {}, .wall = {}, .computing = DurationNs(1'000 * us[r])});
    job.alignment.clocks.emplace_back().aligned = true;
  }
  return job;
}

TEST(MedianRankTest, TheMedianByComputing) {
  EXPECT_EQ(MedianRank(Computing({30, 10, 20})), 2u);
  EXPECT_EQ(MedianRank(Computing({30, 10, 20, 40})), 2u);
  EXPECT_EQ(MedianRank(Computing({10, 10, 10})), 1u);
}

TEST(MedianRankTest, StepsWithoutGpuWorkDoNotCount) {
  JobRanks job = Computing({30, 10, 20});
  job.ranks[2].steps.front().computing = {};
  EXPECT_EQ(MedianRank(job), 2u);
  job.ranks[2].steps.clear();
  EXPECT_EQ(MedianRank(job), 1u);
}

TEST(MedianRankTest, OfTheMostThatAreOnOneClock) {
  JobRanks job = Computing({10, 20, 30, 40, 50});
  job.alignment.clocks[0].aligned = job.alignment.clocks[1].aligned = false;
  EXPECT_EQ(MedianRank(job), 3u);
  for (RankClock& clock : job.alignment.clocks) clock.aligned = false;
  EXPECT_EQ(MedianRank(job), 2u);
}

TEST(MedianRankTest, NoStraggler) {
  JobRanks job = Computing({10, 10, 10});
  job.waits.stragglers = {1};
  EXPECT_EQ(MedianRank(job), 0u);
  job.waits.stragglers = {0, 1, 2};
  EXPECT_EQ(MedianRank(job), 1u);
}

TEST(MedianRankTest, WhereNoneIsKnownTheFirst) {
  JobRanks job = Computing({10, 20});
  for (RankTimeline& rank : job.ranks) rank.steps.clear();
  EXPECT_EQ(MedianRank(job), 0u);
}

}  // namespace median_rank_test
}  // namespace headroom
