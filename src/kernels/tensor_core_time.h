// How long the work of an operator takes on a GPU in a given type: physics with sustained rates.
//
// A time comes from the operator's FLOPs, bytes and shape, and from the device's peaks. What share
// of a peak is sustained was measured on one H200 (PyTorch 2.11, cuBLAS 13, cuDNN 9.19) and is
// assumed of other devices; docs/engine.md gives the measurements and what they miss.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"

namespace headroom {

/// Where the elements of a matrix product lie.
struct GemmLayout {
  bool aligned = true;             ///< Rows of all three matrices begin at multiples of 16 bytes.
  bool transposed_first = false;   ///< Elements of a column lie side by side, not of a row.
  bool transposed_second = false;  ///< The same of the second, as a linear layer's weight.

  /// The first is transposed alone.
  bool IsOfWeightGradient() const { return transposed_first && !transposed_second; }
};

/// From the strides of the operands of aten::mm, addmm, bmm and baddbmm for elements of a type;
/// where no strides were recorded, rows are taken to be contiguous.
GemmLayout LayoutOf(const OperatorCall& call, const GemmShape& shape, DType dtype);

/// Time of a matrix product on tensor cores:
/// t = t0 + ((F / R)^4 + (B / W)^4)^(1/4) with R the sustained rate, less what whole tiles and
/// whole waves of tiles waste. kTF32, kF16 and kBF16 only; nullopt for other types and where the
/// device's peak or bandwidth is not known.
///
/// @param sustained  share of the peak that the device's power sustains
std::optional<DurationNs> TensorCoreGemmTime(const GemmShape& shape, const GemmLayout& layout,
                                             DType dtype, const DeviceSpec& device,
                                             double sustained = 1);

/// Time on tensor cores of a recurrent operator (IsRecurrent()) that takes `time` on vector units
/// in float32: its products at the one sustained rate instead of the other. What it takes beyond
/// them, steps that wait for each other, stays. kTF32, kF16 and kBF16 only; nullopt as above.
std::optional<DurationNs> TensorCoreRecurrentTime(const OperatorCost& cost, DurationNs time,
                                                  DType dtype, const DeviceSpec& device);

/// How activations lie in memory.
enum class ActivationOrder { kChannelsFirst, kChannelsLast };

/// Kernels one after the other of a convolution on tensor cores with channels first, all of its
/// parts: where it reorders, its operands, the product and the result.
double ConvolutionKernels(const ConvolutionShape& shape);

/// Time of a convolution on tensor cores, all of its parts (forward, or the data and
/// weight gradients that it computes): each an implicit product [batch * plane, out channels, in
/// channels * kernel] or its transpose, with the time above, and both of its activations reordered
/// to NHWC or back, by kernels of their own. A 1x1 convolution of stride 1 is a product as it lies
/// (forward and data gradient: one a sample), and needs no reordering unless its plane is odd; nor
/// does any with channels last. nullopt as above.
std::optional<DurationNs> TensorCoreConvolutionTime(
    const ConvolutionShape& shape, DType dtype, const DeviceSpec& device,
    ActivationOrder order = ActivationOrder::kChannelsFirst, double sustained = 1);

}  // namespace headroom
