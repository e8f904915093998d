// Time of a piece of work on a GPU: a physical model of tiles, waves and bytes. Its few constants
// are the same for all GPUs (docs/predict.md).
#pragma once

#include <optional>

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the nanoseconds that the work takes on the GPU, within a stream of other kernels.
/// Returns nullopt if the device's figures do not determine the time for this type.
///
/// Products in float32 use the tile and the split along k that the library expects to be fastest.
/// The library ignores both the power limit and the cost of rows read in pieces. Blocks are
/// assigned to multiprocessors round-robin, and a multiprocessor with few warps hides less latency.
/// If the operands of the running blocks exceed the L2, repeated reads go to memory. Power bounds
/// the total.
///
/// Convolutions in float32 use the fastest of an implicit GEMM and Winograd's F(2x2, 3x3) and
/// F(4x4, 3x3). A library that tries all three picks the same. kernels/tensor_core_time.h covers
/// other types.
std::optional<double> KernelNs(const KernelWork& work, const DeviceRates& rates,
                               const KernelConstants& constants);

/// Returns the nanoseconds of the work's arithmetic plus those of its bytes, at the data sheet's
/// rates. Counts arithmetic by the operation's definition.
double FullRateNs(const KernelWork& work, const DeviceRates& rates);

/// Returns FullRateNs() with the arithmetic at the rate that the power limit sustains. This is how
/// long the GPU draws all of its power during the work.
double FullPowerNs(const KernelWork& work, const DeviceRates& rates);

}  // namespace headroom
