#include "whatif/memory/optimizer_state.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom {
namespace {

struct KnownOptimizer {
  std::string_view name;
  int tensors = 0;
};

constexpr std::array kOptimizers = {
    KnownOptimizer{"Adam", 2},      KnownOptimizer{"AdamW", 2},    KnownOptimizer{"NAdam", 2},
    KnownOptimizer{"RAdam", 2},     KnownOptimizer{"Adamax", 2},   KnownOptimizer{"SparseAdam", 2},
    KnownOptimizer{"FusedAdam", 2}, KnownOptimizer{"Adadelta", 2}, KnownOptimizer{"Adagrad", 1},
    KnownOptimizer{"RMSprop", 1},   KnownOptimizer{"Lion", 1},     KnownOptimizer{"Adafactor", 0},
};

constexpr std::string_view kRange = "Optimizer.step#";

std::string_view NameIn(std::string_view range) {
  range.remove_prefix(kRange.size());
  return range.substr(0, range.rfind('.'));
}

/// Returns true if a nested operator on single tensors or lists has a name that ends with `name`.
bool HasInside(const StepOperators& step, std::size_t range, std::string_view name) {
  for (std::size_t op = range + 1; op <= step.list[range].last; ++op) {
    if (step.list[op].name.ends_with(name) && step.list[op].thread == step.list[range].thread)
      return true;
  }
  return false;
}

/// Returns the number of state tensors that the update changes in place. Moments are interpolated
/// or accumulated; a momentum is multiplied.
int TensorsUpdated(const StepOperators& step, std::size_t range) {
  const int moments =
      (HasInside(step, range, "lerp_") ? 1 : 0) + (HasInside(step, range, "addcmul_") ? 1 : 0);
  return moments > 0 || !HasInside(step, range, "mul_") ? moments : 1;
}

}  // namespace

OptimizerState StateOf(const StepOperators& step) {
  const auto range = std::find_if(step.list.begin(), step.list.end(), [](const StepOperator& op) {
    return op.name.starts_with(kRange);
  });
  if (range == step.list.end()) return {};
  const auto at = static_cast<std::size_t>(range - step.list.begin());
  OptimizerState state{.name = std::string(NameIn(range->name))};
  const auto known =
      std::find_if(kOptimizers.begin(), kOptimizers.end(),
                   [&](const KnownOptimizer& optimizer) { return optimizer.name == state.name; });
  if (known != kOptimizers.end()) {
    state.tensors = known->tensors;
  } else if (HasInside(step, at, "_fused_sgd_")) {
    state.tensors = 1;  // Assumes a momentum, as in most jobs.
  } else {
    state.tensors = TensorsUpdated(step, at);
  }
  return state;
}

}  // namespace headroom
