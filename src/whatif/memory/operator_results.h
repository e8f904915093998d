// Which tensors an operator of a step makes, by the shapes of what it reads.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

/// The tensors that an operator with GPU work of its own writes into new memory, in the order in
/// which PyTorch returns them; nullopt: it writes into what it was given. An operator without a
/// rule is taken to go through its arguments element by element: the broadcast of all, in the
/// widest type.
std::optional<std::vector<TensorArg>> ResultsOf(const StepOperators& step, std::size_t op);

}  // namespace headroom
