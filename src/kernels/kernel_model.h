// How long a piece of work takes on a GPU: physics of tiles, waves and bytes, with few constants
// that hold for all GPUs (docs/predict.md).
#pragma once

#include <optional>

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Nanoseconds on the GPU, in a stream of other kernels; nullopt: for this type the device's
/// figures do not tell.
///
/// Products in float32: of the library's tiles and splits along k, the one that it expects to be
/// the fastest, knowing neither the power nor what rows along k cost in pieces. Blocks go to
/// multiprocessors in turn; one with few warps hides less latency; what is read again, once the
/// operands of the blocks at work exceed the L2, is read from memory; power bounds the whole.
/// Convolutions in float32: the best of an implicit product and Winograd's F(2x2, 3x3) and
/// F(4x4, 3x3), as a library that tries them all picks. In other types, kernels/tensor_core_time.h.
std::optional<double> KernelNs(const KernelWork& work, const DeviceRates& rates,
                               const KernelConstants& constants);

/// Nanoseconds that its arithmetic and then its bytes would take at the rates of the data sheet;
/// arithmetic as the definition counts it.
double FullRateNs(const KernelWork& work, const DeviceRates& rates);

/// The same, arithmetic at the rate that the power allows for long: how much of its time a GPU
/// draws all of its power.
double FullPowerNs(const KernelWork& work, const DeviceRates& rates);

}  // namespace headroom
