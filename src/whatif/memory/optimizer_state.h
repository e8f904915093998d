// State that an optimizer keeps from step to step.
#pragma once

#include <string>

#include "whatif/job/step_operators.h"

namespace headroom {

struct OptimizerState {
  std::string name;  ///< "AdamW"; empty if the step has no optimizer range.
  /// Number of tensors of a parameter's size and type, per parameter. Single numbers do not count.
  int tensors = 0;
};

/// Returns the state according to the name of the optimizer's range ("Optimizer.step#AdamW.step")
/// and torch.optim's documentation. For an unknown optimizer, uses the operators that typically
/// update such tensors. Assumes that RMSprop's momentum and Adam's amsgrad are off, because the
/// name does not show them.
OptimizerState StateOf(const StepOperators& step);

}  // namespace headroom
