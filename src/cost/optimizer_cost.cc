// Operators on lists of tensors: fused optimizers, foreach arithmetic, gradient unscaling.
//
// Profilers record the shapes of short lists only, and never their element type. With shapes, the
// bytes assume float32 parameters and set OperatorCost::assumes_fp32. Without shapes, the cost is
// unknown.
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

constexpr double kBytesPerElement = 4;

/// Returns the number of elements in a list argument; nullopt if the profiler dropped the list.
std::optional<double> ListElements(const OperatorCall& call, std::size_t index) {
  if (index >= call.args.size() || call.args[index].kind != OperatorArg::Kind::kTensorList ||
      call.args[index].tensors.empty()) {
    return std::nullopt;
  }
  double elements = 0;
  for (const TensorArg& tensor : call.args[index].tensors) elements += Elements(tensor.dims);
  return elements;
}

/// Returns the cost of reading and writing `moved` list elements, with the rule's FLOPs for each of
/// `updated` elements.
OperatorCost AssumingFp32(double moved, double updated, const OperatorRule& rule) {
  return {.flops = rule.flops_per_element * updated,
          .bytes = kBytesPerElement * moved,
          .family = rule.family,
          .math_dtype = DType::kF32,
          .assumes_fp32 = true};
}

/// Fused optimizers read every list except the step counters, and write back all except the
/// gradients. Bytes per parameter:
/// - Adam: 28. It reads p, g, m, v and writes p, m, v. An amsgrad list adds 8.
/// - SGD: 20 with momentum, 12 without.
/// - Adagrad: 20.
std::optional<OperatorCost> FusedOptimizer(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> parameters = ListElements(call, 0);
  if (!parameters) return std::nullopt;
  double moved = 0;
  std::size_t lists = 0;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind != OperatorArg::Kind::kTensorList) continue;
    ++lists;
    const double elements = ListElements(call, i).value_or(0);
    if (elements != *parameters) continue;  // Step counters and unused lists.
    moved += i == 1 ? elements : 2 * elements;
  }
  return lists < 2 ? std::nullopt : std::optional(AssumingFp32(moved, *parameters, rule));
}

/// Foreach arithmetic reads all lists. It writes the first list if in place, otherwise a result of
/// the same size.
std::optional<OperatorCost> Foreach(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> first = ListElements(call, 0);
  if (!first) return std::nullopt;
  double moved = *first;  // The first list is written.
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind != OperatorArg::Kind::kTensorList) continue;
    const std::optional<double> elements = ListElements(call, i);
    if (!elements) return std::nullopt;
    moved += *elements;
  }
  return AssumingFp32(moved, *first, rule);
}

/// (self, a, b, values): Adam passes its gradients as both a and b, which a profile does not show.
/// See Addcmul in pointwise_cost.cc.
std::optional<OperatorCost> ForeachAddcmul(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> self = ListElements(call, 0);
  const std::optional<double> a = ListElements(call, 1);
  if (!self || !a) return std::nullopt;
  return AssumingFp32(2 * *self + *a, *self, rule);
}

/// (self, source): reads the second list, writes the first.
std::optional<OperatorCost> ForeachCopy(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> target = ListElements(call, 0);
  const std::optional<double> source = ListElements(call, 1);
  if (!target || !source) return std::nullopt;
  return AssumingFp32(*target + *source, *target, rule);
}

std::optional<OperatorCost> ForeachZero(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> target = ListElements(call, 0);
  if (!target) return std::nullopt;
  return AssumingFp32(*target, *target, rule);
}

/// Reads the list and writes one norm per tensor.
std::optional<OperatorCost> ForeachNorm(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<double> list = ListElements(call, 0);
  if (!list) return std::nullopt;
  return AssumingFp32(*list + static_cast<double>(call.args[0].tensors.size()), *list, rule);
}

constexpr std::array kOptimizerRules = {
    // Adam: two moving averages 3 + 4, two bias corrections 2, root and epsilon 2, update 3. AdamW:
    // 1 more for the decay.
    OperatorRule{"aten::_fused_adam_", WorkFamily::kOptimizer, FusedOptimizer, 14},
    OperatorRule{"aten::_fused_adamw_", WorkFamily::kOptimizer, FusedOptimizer, 15},
    OperatorRule{"aten::_fused_sgd_", WorkFamily::kOptimizer, FusedOptimizer, 4},
    OperatorRule{"aten::_fused_adagrad_", WorkFamily::kOptimizer, FusedOptimizer, 6},
    OperatorRule{"aten::_amp_foreach_non_finite_check_and_unscale_", WorkFamily::kOptimizer,
                 Foreach, 1},
    OperatorRule{"aten::_foreach_add", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_sub", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_mul", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_div", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_pow", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_neg", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_abs", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_sqrt", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_reciprocal", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_maximum", WorkFamily::kOptimizer, Foreach, 1},
    OperatorRule{"aten::_foreach_lerp", WorkFamily::kOptimizer, Foreach, 3},
    OperatorRule{"aten::_foreach_addcmul", WorkFamily::kOptimizer, ForeachAddcmul, 3},
    OperatorRule{"aten::_foreach_addcdiv", WorkFamily::kOptimizer, Foreach, 3},
    OperatorRule{"aten::_foreach_copy", WorkFamily::kOptimizer, ForeachCopy, 0},
    OperatorRule{"aten::_foreach_zero", WorkFamily::kOptimizer, ForeachZero, 0},
    OperatorRule{"aten::_foreach_norm", WorkFamily::kOptimizer, ForeachNorm, 2},
};

}  // namespace

std::span<const OperatorRule> OptimizerRules() { return kOptimizerRules; }

}  // namespace headroom
