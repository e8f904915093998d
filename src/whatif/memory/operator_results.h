// The tensors that an operator of a step makes, from the shapes of its inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

/// Returns the tensors that an operator with its own GPU work writes into new memory, in PyTorch's
/// order of results. Returns nullopt if it writes into its arguments. Assumes that an operator
/// without a rule works element by element: the broadcast of all arguments, in the widest type.
std::optional<std::vector<TensorArg>> ResultsOf(const StepOperators& step, std::size_t op);

}  // namespace headroom
