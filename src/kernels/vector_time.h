// Times of matrix products and convolutions in float32 on ordinary arithmetic units.
#pragma once

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Nanoseconds of a product by the best tile of the library and the best split along k.
double ProductNs(const ProductWork& work, const DeviceRates& rates,
                 const KernelConstants& constants);

/// Outputs along one side of the image: floor((image + 2 padding - kernel) / stride) + 1.
double OutputSide(const ConvolutionWork& work);

/// Nanoseconds of a convolution by the best of three algorithms: as an implicit product; by
/// Winograd's F(2x2, 3x3) in one kernel, 2.25 times fewer multiplications, each of whose blocks
/// computes a patch of given sides, whole or not; by F(4x4, 3x3) with its transforms in memory, 4
/// times fewer (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016;
/// kernels of 3 by 3 with stride 1 only). The start of the last of its kernels is not in it.
double ConvolutionNs(const ConvolutionWork& work, const DeviceRates& rates,
                     const KernelConstants& constants);

}  // namespace headroom
