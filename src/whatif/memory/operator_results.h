// The tensors that an operator of a step makes, from the shapes of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

/// Returns the tensors that an operator with its own GPU work writes into new memory, in PyTorch's
/// order of results, with strides if they follow from the operator. Returns nullopt if it writes
/// into its arguments. Assumes that an operator without a rule works element by element: the
/// broadcast of all arguments, in the widest type.
std::optional<std::vector<TensorArg>> ResultsOf(const StepOperators& step, std::size_t op);

/// Returns the view that an operator without GPU work makes of its first argument; nullopt if it
/// makes none.
std::optional<TensorArg> ViewOf(const StepOperator& op);

/// Returns the strides of a contiguous tensor.
std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& dims);

}  // namespace headroom
