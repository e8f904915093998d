// The gradients of a recorded step: the size of each, when it is ready, and which task reads it
// next.
#pragma once

#include <string_view>
#include <vector>

#include "network/gradients.h"
#include "whatif/job/job.h"

namespace headroom {

/// The node that completes a parameter's gradient.
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

/// Returns the gradients of the recorded steps, in order. Sizes come from the shapes of
/// AccumulateGrad, which runs once per parameter. If its shapes were not recorded, sizes come from
/// the operators that compute gradients of weights: convolutions, embeddings, and products with a
/// transposed first operand. Biases and norms are then missing, less than 1 % of a typical model.
/// Returns an empty list if neither is recorded.
std::vector<GradientStep> FindGradients(const Job& job);

}  // namespace headroom
