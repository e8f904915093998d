// The gradients of a recorded step: how large each is, when it is ready, who needs it next.
#pragma once

#include <string_view>
#include <vector>

#include "network/gradients.h"
#include "whatif/job/job.h"

namespace headroom {

/// The node that completes a parameter's gradient.
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

/// Those of the recorded steps, in order. Sizes come from the shapes of AccumulateGrad, which runs
/// once for each parameter; where those were not recorded, from the operators that compute the
/// gradients of weights (convolutions, embeddings, products with a transposed first operand), so
/// that biases and norms are missing: less than 1 % of a usual model. Empty: neither is known.
std::vector<GradientStep> FindGradients(const Job& job);

}  // namespace headroom
