#include "base/time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace headroom {
namespace time_test {

constexpr DurationNs kLongest(INT64_MAX), kShortest(INT64_MIN), kOne(1);

TEST(TimeTest, SumsAndDifferencesSaturate) {
  EXPECT_EQ(kLongest + kOne, kLongest);
  EXPECT_EQ(kShortest - kOne, kShortest);
  EXPECT_EQ(kShortest + kShortest, kShortest);
  EXPECT_EQ(kLongest - kShortest, kLongest);
  EXPECT_EQ(-kShortest, kLongest);
  EXPECT_EQ(-kLongest, DurationNs(-INT64_MAX));
  EXPECT_EQ(kLongest + kShortest, DurationNs(-1));
}

TEST(TimeTest, APointMovesBySpans) {
  EXPECT_EQ(TimeNs(5) + DurationNs(3), TimeNs(8));
  EXPECT_EQ(TimeNs(5) - DurationNs(8), TimeNs(-3));
  EXPECT_EQ(TimeNs(5) - TimeNs(8), DurationNs(-3));
}

}  // namespace time_test
}  // namespace headroom
