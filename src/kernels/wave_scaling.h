// Wave scaling: forecasts a kernel of unknown purpose on another GPU from its launch configuration
// alone.
#pragma once

#include <optional>

#include "kernels/device_rates.h"

namespace headroom {

/// Launch configuration of a kernel.
struct LaunchShape {
  double blocks = 0;        ///< Blocks of the grid; above 0.
  double threads = 0;       ///< Threads per block; above 0.
  double registers = 0;     ///< Registers per thread; 0 if unknown.
  double shared_bytes = 0;  ///< Bytes of shared memory per block; 0 for none.
};

/// Returns target time / source time. Uses the ratio of clocks for a kernel whose blocks all run at
/// once on both GPUs, and the ratio of bandwidths for any other kernel. Source: Yu et al.,
/// "Habitat" (USENIX ATC 2021), without hardware counters, as in the authors' program.
double WaveScaling(const LaunchShape& launch, const DeviceRates& source, const DeviceRates& target);

}  // namespace headroom
