// Wave scaling: a kernel of unknown purpose on another GPU, by its launch configuration alone.
#pragma once

#include <optional>

#include "kernels/device_rates.h"

namespace headroom {

/// How a kernel was launched.
struct LaunchShape {
  double blocks = 0;        ///< Of the grid; above 0.
  double threads = 0;       ///< Of a block; above 0.
  double registers = 0;     ///< Of a thread; 0: not known.
  double shared_bytes = 0;  ///< Of a block.
};

/// Target time / source time: of a kernel that fits both GPUs at once, clock against clock; of any
/// other, bandwidth against bandwidth. Source: Yu et al., "Habitat" (USENIX ATC 2021), without
/// hardware counters, as its authors' program has it.
double WaveScaling(const LaunchShape& launch, const DeviceRates& source, const DeviceRates& target);

}  // namespace headroom
