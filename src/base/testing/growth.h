// For tests: checks that work grows linearly with the input, not quadratically.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "base/testing/sanitizer.h"

namespace headroom {

/// Returns the CPU time of a job, which depends little on other load, unlike elapsed time.
template <typename Job>
double CpuSeconds(const Job& job) {
  const std::clock_t begin = std::clock();
  job();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Runs a job with n and with 4n items; `prepare(n)` returns the job. Four times the work is
/// linear, sixteen times is quadratic. Uses the fastest of a few runs, because noise only adds
/// time. Under a sanitizer, times are meaningless, so the job with n items runs once.
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
    // Memory new to the process can slow the first small run and so hide growth.
    if (i > 0 && large < kBetween * small) return;
  }
  EXPECT_LT(large, kBetween * small) << "seconds for " << 4 * n << " items";
}

}  // namespace headroom
