// Tensors of a forward operator that autograd keeps until its backward runs, by the name of the
// backward node (PyTorch's tools/autograd/derivatives.yaml).
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
  bool assumed = false;  ///< True for a node without a rule: assumes that its first tensor is kept.

  bool Nothing() const { return arguments.empty() && !first_result && !other_results; }
};

/// @param node  name of the node, such as "AddmmBackward0"
SavedTensors SavedBy(std::string_view node, const StepOperator& forward);

}  // namespace headroom
