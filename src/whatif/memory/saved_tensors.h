// Tensors of a forward operator that autograd keeps until its backward runs, by the name of the
// backward node (PyTorch's tools/autograd/derivatives.yaml). Products, and nodes without a rule,
// keep the tensors that the operators inside the node read in addition to the incoming gradients.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

struct SavedTensors {
  std::vector<std::size_t> arguments;  ///< Indices of the forward operator's arguments.
  bool first_result = false;
  bool other_results = false;
  bool assumed = false;  ///< True for a node without a rule.

  bool Nothing() const { return arguments.empty() && !first_result && !other_results; }
};

/// @param node  position of the backward node that the forward operator made
SavedTensors SavedBy(const StepOperators& step, std::size_t node, const StepOperator& forward,
                     const std::vector<TensorArg>& results);

}  // namespace headroom
