#include "distributed/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace headroom {
namespace shares_test {

using Shares = std::vector<std::vector<std::size_t>>;

TEST(SharesTest, LargestFirst) {
  EXPECT_EQ(ShareFiles(std::vector<std::int64_t>{1, 7, 3, 4}, 2), (Shares{{0, 1}, {2, 3}}));
}

TEST(SharesTest, EqualFilesInTurn) {
  EXPECT_EQ(ShareFiles(std::vector<std::int64_t>{5, 5, 5, 5, 5}, 2), (Shares{{0, 2, 4}, {1, 3}}));
}

TEST(SharesTest, MoreProcessesThanFiles) {
  EXPECT_EQ(ShareFiles(std::vector<std::int64_t>{0}, 3), (Shares{{0}, {}, {}}));
  EXPECT_EQ(ShareFiles({}, 2), (Shares{{}, {}}));
}

RC_GTEST_PROP(SharesTest, EveryFileOnceAndNoProcessFarAboveTheRest, ()) {
  const auto sizes =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 1'000'000));
  const int processes = *rc::gen::inRange(1, 9);
  const Shares shares = ShareFiles(sizes, processes);
  RC_ASSERT(shares.size() == static_cast<std::size_t>(processes));
  std::vector<std::size_t> all;
  std::int64_t most = 0;
  for (const std::vector<std::size_t>& share : shares) {
    RC_ASSERT(std::is_sorted(share.begin(), share.end()));
    std::int64_t load = 0;
    for (const std::size_t file : share) load += sizes[file];
    most = std::max(most, load);
    all.insert(all.end(), share.begin(), share.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::size_t> expected(sizes.size());
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(all == expected);
  // No schedule is shorter than the mean load or the largest file.
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const std::int64_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  RC_ASSERT(most <= sum / processes + largest);
}

}  // namespace shares_test
}  // namespace headroom
