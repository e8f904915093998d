// What an optimizer keeps from step to step.
#pragma once

#include <string>

#include "whatif/job/step_operators.h"

namespace headroom {

struct OptimizerState {
  std::string name;  ///< "AdamW"; empty: the step has no optimizer's range.
  /// Tensors of a parameter's size and type for each parameter. Single numbers do not count.
  int tensors = 0;
};

/// By the name of its range ("Optimizer.step#AdamW.step") as torch.optim's documentation has it; of
/// one that is not known there, by the operators that usually update such a tensor. What a name
/// does not tell: RMSprop's momentum, Adam's amsgrad; they are taken to be off.
OptimizerState StateOf(const StepOperators& step);

}  // namespace headroom
