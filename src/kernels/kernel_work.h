// One piece of GPU work, described by its shape, independent of any GPU.
#pragma once

#include <variant>

#include "cost/dtype.h"
#include "kernels/kernel_constants.h"

namespace headroom {

/// `batch` products of (m x k) by (k x n).
struct ProductWork {
  double batch = 1, m = 0, k = 0, n = 0;
  bool batched = false;  ///< Called as a batched product, even if the batch is 1.
  /// True if an operand's elements along k are adjacent in memory. This holds for a first operand
  /// that is not transposed, and for a second operand like a linear layer's weight of (n x k).
  bool first_along_k = true, second_along_k = false;
};

/// A square convolution without groups, as deep-learning frameworks define it.
struct ConvolutionWork {
  double batch = 0, in_channels = 0, out_channels = 0;
  double kernel = 0, image = 0, stride = 1, padding = 0;  ///< Elements per side.
  bool plain = true;  ///< Neither dilated nor transposed, with a square kernel.
};

/// Kernels that move data and compute little; bytes counts reads and writes.
struct PointwiseWork {
  double bytes = 0;
  double kernels = 1;
};

/// Work on rows in which each result depends on the whole row: softmax or normalization.
struct RowwiseWork {
  double rows = 0, columns = 0;
  bool softmax = false;
};

/// Work on elements of `dtype`. Products and convolutions compute in this type.
struct KernelWork {
  std::variant<ProductWork, ConvolutionWork, PointwiseWork, RowwiseWork> shape;
  DType dtype = DType::kF32;
};

WorkClass ClassOf(const KernelWork& work);

/// Returns the floating-point operations of a product or convolution, by its definition. Returns
/// the bytes that other work moves.
double Operations(const KernelWork& work);

/// Limit above which times overflow. No GPU has memory for such work.
inline constexpr double kMaxOperations = 1e21;

}  // namespace headroom
