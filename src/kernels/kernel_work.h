// One piece of GPU work, told by its shape and nothing of a GPU.
#pragma once

#include <variant>

#include "cost/dtype.h"
#include "kernels/kernel_constants.h"

namespace headroom {

/// `batch` products of (m x k) by (k x n).
struct ProductWork {
  double batch = 1, m = 0, k = 0, n = 0;
  bool batched = false;  ///< Called as many products at once, also if it is one.
  /// Elements that the sum takes one after the other are neighbours in memory: in the first
  /// operand, as in any that is not transposed; and in the second, as in a linear layer's weight
  /// of (n x k).
  bool first_along_k = true, second_along_k = false;
};

/// A square convolution, as deep-learning frameworks define it, without groups.
struct ConvolutionWork {
  double batch = 0, in_channels = 0, out_channels = 0;
  double kernel = 0, image = 0, stride = 1, padding = 0;  ///< Of one side.
  bool plain = true;  ///< Neither dilated nor transposed, and its kernel is a square.
};

/// Kernels that move data and compute little: bytes read and written.
struct PointwiseWork {
  double bytes = 0;
  double kernels = 1;
};

/// Work on rows that need all of their elements: softmax, or a normalization.
struct RowwiseWork {
  double rows = 0, columns = 0;
  bool softmax = false;
};

/// Of elements of `dtype`; products and convolutions compute in it.
struct KernelWork {
  std::variant<ProductWork, ConvolutionWork, PointwiseWork, RowwiseWork> shape;
  DType dtype = DType::kF32;
};

WorkClass ClassOf(const KernelWork& work);

/// Floating-point operations as the definition counts them; of what only moves data, its bytes.
double Operations(const KernelWork& work);

/// Beyond this, times have no room, and no GPU has the memory.
inline constexpr double kMaxOperations = 1e21;

}  // namespace headroom
