#include "scale/expected_maximum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace headroom {
namespace expected_maximum_test {

TEST(ExpectedMaximum, KnownMaxima) {
  EXPECT_EQ(ExpectedMaximumOfNormals(1), 0);
  EXPECT_NEAR(ExpectedMaximumOfNormals(2), 1 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(ExpectedMaximumOfNormals(3), 1.5 / std::sqrt(std::numbers::pi), 1e-6);
  // Harter, "Expected values of normal order statistics", Biometrika 1961.
  EXPECT_NEAR(ExpectedMaximumOfNormals(10), 1.53875, 1e-4);
  EXPECT_NEAR(ExpectedMaximumOfNormals(100), 2.50759, 1e-4);
}

TEST(ExpectedMaximum, GrowsSlowly) {
  EXPECT_GT(ExpectedMaximumOfNormals(1e5), ExpectedMaximumOfNormals(1e4));
  EXPECT_LT(ExpectedMaximumOfNormals(1e5), 4.5);
}

}  // namespace expected_maximum_test
}  // namespace headroom
