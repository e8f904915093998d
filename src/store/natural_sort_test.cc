#include "store/natural_sort.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace headroom {
namespace natural_sort_test {

using Row = std::pair<int, int>;  ///< The key, and the position before sorting.

bool KeyLess(const Row& a, const Row& b) { return a.first < b.first; }

void CheckAgainstStableSort(const std::vector<int>& keys) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) rows.emplace_back(keys[i], static_cast<int>(i));
  std::vector<Row> expected = rows;
  std::stable_sort(expected.begin(), expected.end(), KeyLess);
  NaturalStableSort(rows, KeyLess);
  EXPECT_EQ(rows, expected);
}

RC_GTEST_PROP(NaturalSortProperty, AgreesWithStableSort, ()) {
  const auto keys = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10));
  CheckAgainstStableSort(keys);
}

TEST(NaturalSortTest, AnyNumberOfRuns) {
  for (int runs = 0; runs <= 33; ++runs) {
    std::vector<int> keys;
    for (int run = 0; run < runs; ++run) {
      for (int i = 0; i < 5; ++i) keys.push_back(i * 2);
    }
    CheckAgainstStableSort(keys);
    keys.push_back(-1);
    CheckAgainstStableSort(keys);
  }
}

TEST(NaturalSortTest, SortedInputIsOnlyCompared) {
  std::vector<int> rows(1000);
  for (int i = 0; i < 1000; ++i) rows[static_cast<std::size_t>(i)] = i / 3;
  int comparisons = 0;
  NaturalStableSort(rows, [&](int a, int b) {
    ++comparisons;
    return a < b;
  });
  EXPECT_EQ(comparisons, 999);
}

}  // namespace natural_sort_test
}  // namespace headroom
