// Memory that cuDNN takes while a convolution runs, told by its own kernels: what they transform
// goes into the workspace, and their grids say how much that is.
#pragma once

#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

/// Bytes of which a part grows with the batch.
struct GrowingBytes {
  double fixed = 0;
  double per_batch = 0;  ///< At the recorded batch.

  double At(double batch_ratio) const { return fixed + per_batch * batch_ratio; }
};

/// What the library's calls of one convolution take, in order: a backward makes one for the
/// gradient of the input and one for that of the weights. 0 for a call without transforms (implicit
/// products take none, or little).
///
/// Bytes of a transform with B blocks of T threads each:
///   between the layouts NCHW and NHWC   32 * grid.x * 32 * grid.y * grid.z elements
///   FFT of S x S tiles                  B * T / S transforms of S * (S / 2 + 1) complex floats
///   Winograd of tiles of 4 x 4          B * T transforms of 6 * 6 elements (6 x 6: 8 * 8)
/// FFT and Winograd go through the batch in rounds over one and the same memory.
///
/// @param op             a convolution or its backward
/// @param channels_last  its tensors were in the layout NHWC, so nothing is brought into another
std::vector<GrowingBytes> ConvolutionWorkspace(const Job& job, const StepOperator& op,
                                               bool channels_last = false);

/// The same were it to run on tensor cores with elements of so many bytes: input, weights and
/// output are brought into their layout, NHWC. Nothing where they are in that layout.
std::vector<GrowingBytes> TensorCoreWorkspace(const StepOperator& op, double element_bytes);

}  // namespace headroom
