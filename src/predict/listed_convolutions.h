// Convolutions of a list: the kinds of kernels and the meaning of their dimensions.
#pragma once

#include <string_view>

#include "base/status.h"
#include "cost/operator_cost.h"
#include "predict/listed_row.h"

namespace headroom {

/// Returns true for CONV1D, CONV2DX, CONV2DG, CONV3D, CONVT1D, CONVT2D and CONVT3D. The square
/// convolution CONV2D is not among them.
bool IsListedConvolution(std::string_view kind);

/// Reads the dimensions of such a kernel. Fails with kBadInput if they are not whole numbers in the
/// order of docs/predict.md, or if the kernel does not fit in the padded image.
Result<ConvolutionShape> ReadConvolution(std::string_view kind, const Extents& extents,
                                         const ListedRow& row);

}  // namespace headroom
