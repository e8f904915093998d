// What waiting for the slowest of many costs, where none is slower than the others by itself.
#pragma once

namespace headroom {

/// Expected maximum of `n` independent standard normal values, by integration; 0 for one.
/// REQUIRES: n >= 1.
double ExpectedMaximumOfNormals(double n);

}  // namespace headroom
