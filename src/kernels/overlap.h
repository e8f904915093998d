// Combines two kinds of work in one kernel, such as arithmetic and reading.
#pragma once

#include <algorithm>
#include <cmath>

namespace headroom {

/// Returns the joint time of two kinds of work that take `a` and `b` alone: their norm of order
/// `p`. The order 1 adds them; a large order takes the longer. The closer the two times are, the
/// less one hides behind the other.
///
/// Requires a, b >= 0 and p >= 1.
inline double Overlapped(double a, double b, double p) {
  const double longer = std::max(a, b);
  if (longer == 0) return 0;
  // Divides by the longer time, so that powers of long times do not overflow.
  return longer * std::pow(1 + std::pow(std::min(a, b) / longer, p), 1 / p);
}

}  // namespace headroom
