#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace headroom {
namespace statistics_test {

std::vector<int> OneTo(int n) {
  std::vector<int> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

struct PercentileCase {
  int n;
  int percent;
  int value;
};

TEST(StatisticsTest, APercentileIsTheValueAtTheNearestRank) {
  const PercentileCase cases[] = {
      {1, 1, 1},       {1, 50, 1},    {1, 100, 1},    {2, 1, 1},       {2, 50, 1},    {2, 51, 2},
      {2, 100, 2},     {3, 50, 2},    {4, 50, 2},     {100, 1, 1},     {100, 50, 50}, {100, 99, 99},
      {100, 100, 100}, {101, 50, 51}, {101, 99, 100}, {101, 100, 101},
  };
  for (const PercentileCase& c : cases) {
    EXPECT_EQ(SortedPercentile(OneTo(c.n), c.percent), c.value) << c.n << " " << c.percent;
  }
}

TEST(StatisticsTest, AShareOfNothingIsZero) {
  EXPECT_EQ(SharePct(DurationNs(5), DurationNs(0)), 0);
  EXPECT_EQ(SharePct(DurationNs(5), DurationNs(20)), 25);
}

}  // namespace statistics_test
}  // namespace headroom
