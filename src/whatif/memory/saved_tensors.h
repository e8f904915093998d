// What autograd keeps of a forward operator until its backward has run, by the name of the backward
// node (tools/autograd/derivatives.yaml of PyTorch).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

struct SavedTensors {
  std::vector<std::size_t> arguments;  ///< Of the forward operator, by their index.
  bool first_result = false;
  bool other_results = false;
  bool assumed = false;  ///< A node without a rule: its first tensor is taken to be kept.

  bool Nothing() const { return arguments.empty() && !first_result && !other_results; }
};

/// @param node  its name, e.g. "AddmmBackward0"
SavedTensors SavedBy(std::string_view node, const StepOperator& forward);

}  // namespace headroom
