// For tests: that work grows with the size of the input, not with its square.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "base/testing/sanitizer.h"

namespace headroom {

/// CPU time of a job: unlike elapsed time, it hardly depends on what else the machine does.
template <typename Job>
double CpuSeconds(const Job& job) {
  const std::clock_t begin = std::clock();
  job();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Runs a job of n and of 4n items, where `prepare(n)` gives the job. Four times the work is
/// linear, sixteen times is quadratic. The best of a few runs counts: noise only ever adds. Under a
/// sanitizer, whose times say nothing, the job of n items runs once.
template <typename Prepare>
void ExpectNoQuadraticTime(int n, const Prepare& prepare) {
  if (testing::kSanitized) {
    prepare(n)();
    return;
  }
  constexpr double kBetween = 8;
  constexpr int kAttempts = 5;
  double small = std::numeric_limits<double>::infinity();
  double large = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kAttempts; ++i) {
    small = std::min(small, CpuSeconds(prepare(n)));
    large = std::min(large, CpuSeconds(prepare(4 * n)));
    // The first small run may be slowed by memory that is new to the process, hiding growth.
    if (i > 0 && large < kBetween * small) return;
  }
  EXPECT_LT(large, kBetween * small) << "seconds for " << 4 * n << " items";
}

}  // namespace headroom
