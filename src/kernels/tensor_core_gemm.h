// Time of matrix products on tensor cores: a physical model of tiles, waves, bytes and power. Its
// constants (TensorCoreConstants) are the same for all GPUs.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "kernels/kernel_constants.h"

namespace headroom {

/// Memory layout of a matrix product.
struct GemmLayout {
  bool aligned = true;            ///< Rows of all three matrices begin at multiples of 16 bytes.
  bool transposed_first = false;  ///< Elements of a column, not of a row, are adjacent in memory.
  /// The same for the second operand, as in a linear layer's weight.
  bool transposed_second = false;

  /// Returns true if only the first operand is transposed.
  bool IsOfWeightGradient() const { return transposed_first && !transposed_second; }
};

/// Returns the layout from the strides of the operands of aten::mm, addmm, bmm and baddbmm, for
/// elements of a type. Assumes contiguous rows if no strides were recorded.
GemmLayout LayoutOf(const OperatorCall& call, const GemmShape& shape, DType dtype);

/// Returns the rate at which operands and power could feed the device's tensor cores, relative to
/// the stated peak: 2 if they halve their rate for float32 accumulation, as on GeForce cards, else
/// 1. In int8, all of NVIDIA's have twice their full rate (NVIDIA, "Ampere GA102 GPU Architecture",
/// table 2).
double FullTensorRate(const DeviceSpec& device);

/// Returns the time of a matrix product on tensor cores:
/// t = start + min over tiles and splits of ((max(C, P))^p + M^p + L^p)^(1/p).
///
/// - C: waves of tiles, one tile per multiprocessor at a time, so one tile more than a wave costs a
///   wave. A tile's time is its FLOPs at its share of the multiprocessor's peak, plus its ends. Two
///   small tiles of batched products run at once.
/// - P: all FLOPs at the share of the peak that the power limit sustains.
/// - M: operands and results once, from memory. Few tiles cannot draw the whole bandwidth.
/// - L: the operands of each tile, from the L2.
/// With few tiles, the library splits the sum over k, and a second kernel adds the parts.
///
/// Supports kTF32, kF16, kBF16 and kF8 (with results of 16 bits). Returns nullopt for other types,
/// and if the device's peak or bandwidth is unknown.
///
/// @param sustained  share of the clock that the device's power sustains, relative to a full-size
///                   card of its architecture
std::optional<DurationNs> TensorCoreGemmTime(const GemmShape& shape, const GemmLayout& layout,
                                             DType dtype, const DeviceSpec& device,
                                             double sustained = 1,
                                             const TensorCoreConstants& constants = {});

}  // namespace headroom
