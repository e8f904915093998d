// Time of an operator's work on tensor cores in a given type, from sustained rates.
//
// A time follows from the operator's FLOPs, bytes and shape, and from the device's peaks. The
// sustained shares of these peaks were measured on one H200 (PyTorch 2.11, cuBLAS 13, cuDNN 9.19).
// The models assume them for other devices. docs/engine.md has the measurements and their limits.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "kernels/tensor_core_gemm.h"

namespace headroom {

/// Memory order of activations.
enum class ActivationOrder { kChannelsFirst, kChannelsLast };

/// Returns the number of consecutive kernels of a convolution on tensor cores with channels first,
/// over all of its parts. A convolution that reorders has kernels for its operands, the product and
/// the result.
double ConvolutionKernels(const ConvolutionShape& shape);

/// Returns the time of a convolution on tensor cores. Sums its parts: the forward, or the data and
/// weight gradients that it computes. Each part is an implicit GEMM [batch * plane, out channels,
/// in channels * kernel] or its transpose, timed as in TensorCoreGemmTime(). Separate kernels
/// reorder both of its activations to NHWC or back.
///
/// No reordering is needed with channels last, or for a 1x1 convolution of stride 1 whose plane is
/// even. The latter is a plain product in its forward and data gradient, one per sample. Returns
/// nullopt as TensorCoreGemmTime() does.
std::optional<DurationNs> TensorCoreConvolutionTime(
    const ConvolutionShape& shape, DType dtype, const DeviceSpec& device,
    ActivationOrder order = ActivationOrder::kChannelsFirst, double sustained = 1);

}  // namespace headroom
