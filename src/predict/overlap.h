// Work of two kinds in one kernel, such as arithmetic and reading.
#pragma once

#include <cmath>

namespace headroom {

/// How long both take together, if each alone takes `a` and `b`: their norm of order `p`, from
/// their sum (1) to the longer of them (large). One hides behind the other the less, the nearer
/// they are in length.
///
/// REQUIRES: a, b >= 0; p >= 1
inline double Overlapped(double a, double b, double p) {
  return std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
}

}  // namespace headroom
