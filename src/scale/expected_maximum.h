// The cost of waiting for the slowest of many equal ranks.
#pragma once

namespace headroom {

/// Returns the expected maximum of `n` independent standard normal values, by integration; 0 for
/// one. REQUIRES: n >= 1.
double ExpectedMaximumOfNormals(double n);

}  // namespace headroom
