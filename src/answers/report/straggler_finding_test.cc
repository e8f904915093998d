#include "answers/report/straggler_finding.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace straggler_finding_test {

/// Three steps of 1000 us and two all-reduces each, for which `late` comes 100 us behind.
JobRanks JobOf(const std::vector<std::size_t>& late) {
  RankBuilder b(3);
  for (std::size_t step = 0; step < 3; ++step) {
    const double at = 1000.0 * static_cast<double>(step);
    b.Step(static_cast<std::int64_t>(step), at, 1000);
    for (const double begin : {at + 100, at + 500}) {
      std::vector<double> arrivals(3, begin);
      arrivals[late[step % late.size()]] += 100;
      b.AllReduce(arrivals, begin + 200);
    }
  }
  return AnalyzeJobRanks(b.ranks());
}

TEST(StragglerFinding, TheOneThatIsLateInEachStep) {
  const std::optional<RankFinding> found = FindStraggler(JobOf({1}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 1u);
  EXPECT_EQ(found->finding.title, "Rank 1 holds the others up: 0.600 ms of 3 steps");
  EXPECT_NEAR(*found->finding.share_pct, 20, 0.1);
  EXPECT_NEAR(found->finding.saves_ms->mid, 0.2, 1e-6);
  EXPECT_EQ(found->finding.figure, "0.600 ms");
  EXPECT_TRUE(found->finding.of_set);
}

TEST(StragglerFinding, AnotherOneEachTime) {
  const std::optional<RankFinding> found = FindStraggler(JobOf({0, 1, 2}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.title, "A different rank is last each time: 0.600 ms of 3 steps");
}

TEST(StragglerFinding, NoneWhereNobodyIsLate) {
  RankBuilder b(2);
  b.Step(0, 0, 1000).AllReduce({100, 100}, 200).AllReduce({300, 300}, 400);
  b.AllReduce({500, 500}, 600);
  EXPECT_FALSE(FindStraggler(AnalyzeJobRanks(b.ranks())).has_value());
}

}  // namespace straggler_finding_test
}  // namespace headroom
