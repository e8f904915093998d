// The optimizer's update in a list of operators.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the work of an update in float32 by its kind: SGD, SGD_MOMENTUM, ADAMW, or these with
/// FUSED_ in front; nullopt for other kinds. Without FUSED_, PyTorch's default: a pass over lists
/// of tensors for each operation ("foreach").
///
/// @param parameters  number of trained elements
/// @param tensors     number of tensors that they form
std::optional<PointwiseWork> UpdateWorkOf(std::string_view kind, double parameters, double tensors);

}  // namespace headroom
