#include "kernels/overlap.h"

#include <gtest/gtest.h>

namespace headroom {
namespace overlap_test {

TEST(Overlapped, GoesFromTheSumToTheLonger) {
  EXPECT_NEAR(Overlapped(3, 4, 1), 7, 1e-12);
  EXPECT_NEAR(Overlapped(3, 4, 2), 5, 1e-12);
  EXPECT_NEAR(Overlapped(3, 4, 64), 4, 1e-6);
  EXPECT_EQ(Overlapped(0, 0, 2), 0);
  EXPECT_EQ(Overlapped(5, 0, 3), 5);
}

TEST(Overlapped, HasRoomForLongTimes) {
  EXPECT_NEAR(Overlapped(1e12, 2e12, 64), 2e12, 1e6);
  EXPECT_NEAR(Overlapped(1e300, 1e-300, 64), 1e300, 1);
}

}  // namespace overlap_test
}  // namespace headroom
