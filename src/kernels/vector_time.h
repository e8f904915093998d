// Times of float32 matrix products and convolutions on vector units.
#pragma once

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the nanoseconds of a product with the best tile of the library and the best split along
/// k.
double ProductNs(const ProductWork& work, const DeviceRates& rates,
                 const KernelConstants& constants);

/// Returns the outputs along one side of the image: floor((image + 2 padding - kernel) / stride) +
/// 1.
double OutputSide(const ConvolutionWork& work);

/// Returns the forward of a square convolution in its general form, without groups.
ConvolutionShape GeneralShape(const ConvolutionWork& work, DType dtype);

/// Returns the nanoseconds of a convolution with the fastest of three algorithms, without the start
/// of its last kernel:
/// - An implicit GEMM.
/// - Winograd's F(2x2, 3x3) in one kernel, with 2.25 times fewer multiplications. Each block
///   computes a patch of fixed sides, even a partial one.
/// - Winograd's F(4x4, 3x3) with its transforms in memory, with 4 times fewer multiplications.
/// Winograd applies only to kernels of 3 by 3 with stride 1. Source: Lavin and Gray, "Fast
/// Algorithms for Convolutional Neural Networks" (CVPR 2016).
double ConvolutionNs(const ConvolutionWork& work, const DeviceRates& rates,
                     const KernelConstants& constants);

}  // namespace headroom
