#include "scale/expected_maximum.h"

#include <cmath>
#include <numbers>

namespace headroom {

double ExpectedMaximumOfNormals(double n) {
  if (n <= 1) return 0;
  // E[max] = integral of x n phi(x) Phi(x)^(n - 1). These bounds contain its mass for any realistic
  // n (the maximum of 10^15 is about 8).
  constexpr double kMin = -10, kMax = 12, kStep = 0.01;
  double sum = 0;
  for (double x = kMin; x <= kMax; x += kStep) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
    sum += x * n * density * std::exp((n - 1) * std::log(below)) * kStep;
  }
  return sum;
}

}  // namespace headroom
