// Work of two kinds in one kernel, such as arithmetic and reading.
#pragma once

#include <algorithm>
#include <cmath>

namespace headroom {

/// How long both take together, if each alone takes `a` and `b`: their norm of order `p`, from
/// their sum (1) to the longer of them (large). One hides behind the other the less, the nearer
/// they are in length.
///
/// REQUIRES: a, b >= 0; p >= 1
inline double Overlapped(double a, double b, double p) {
  const double longer = std::max(a, b);
  if (longer == 0) return 0;
  // Of the longer, so that powers of long times have room.
  return longer * std::pow(1 + std::pow(std::min(a, b) / longer, p), 1 / p);
}

}  // namespace headroom
