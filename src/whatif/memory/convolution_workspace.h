// cuDNN's workspace during a convolution, computed from its kernels. Transformed data goes into the
// workspace, and the kernels' grids show its size.
#pragma once

#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

/// Bytes with a fixed part and a part that grows with the batch.
struct GrowingBytes {
  double fixed = 0;
  double per_batch = 0;  ///< Bytes at the recorded batch size.

  double At(double batch_ratio) const { return fixed + per_batch * batch_ratio; }
};

/// Returns the workspaces of the cuDNN calls for one convolution, in order. A backward makes one
/// call for the gradient of the input and one for that of the weights. A call without transforms
/// has 0, because implicit GEMM takes little or no workspace.
///
/// Bytes of a transform with B blocks of T threads each:
///   between the layouts NCHW and NHWC   32 * grid.x * 32 * grid.y * grid.z elements
///   FFT of S x S tiles                  B * T / S transforms of S * (S / 2 + 1) complex floats
///   Winograd of tiles of 4 x 4          B * T transforms of 6 * 6 elements (6 x 6: 8 * 8)
///
/// FFT and Winograd process the batch in rounds that reuse the same memory.
///
/// @param op             a convolution or its backward
/// @param channels_last  true if its tensors have the layout NHWC, so that no layout change is
/// needed
std::vector<GrowingBytes> ConvolutionWorkspace(const Job& job, const StepOperator& op,
                                               bool channels_last = false);

/// Returns the workspaces of the convolution on tensor cores with elements of `element_bytes`
/// bytes. The workspaces contain input, weights and output in the layout NHWC. Returns an empty
/// list if the tensors already have that layout.
std::vector<GrowingBytes> TensorCoreWorkspace(const StepOperator& op, double element_bytes);

}  // namespace headroom
