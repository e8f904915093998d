// The formulas behind operator_cost.h, one list a kind of work. Internal to this folder.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "cost/work_family.h"

namespace headroom {

struct OperatorRule;
using CostFormula = std::optional<OperatorCost> (*)(const OperatorCall& call,
                                                    const OperatorRule& rule);

/// How one operator is costed.
struct OperatorRule {
  std::string_view name;  ///< In full, e.g. "aten::mm". An in-place variant ("aten::add_") shares
                          ///< the rule of "aten::add".
  WorkFamily family = WorkFamily::kUnclassified;
  CostFormula formula = nullptr;  ///< nullptr: the family is known, the cost is not.
  double flops_per_element = 0;   ///< For the formulas that use it.
  int tensor_inputs = 0;          ///< Tensors that the operator reads; one more is its `out=`.
};

/// The rule of an operator; `in_place` tells that it was found by dropping a trailing underscore.
/// nullptr if there is none.
struct FoundRule {
  const OperatorRule* rule = nullptr;
  bool in_place = false;
};
FoundRule FindRule(std::string_view operator_name);

std::span<const OperatorRule> MatmulRules();
std::span<const OperatorRule> ConvolutionRules();
std::span<const OperatorRule> AttentionRules();
std::span<const OperatorRule> RecurrentRules();
std::span<const OperatorRule> PointwiseRules();
std::span<const OperatorRule>
RowwiseRules();  ///< Reductions, softmax, normalization, pooling, losses.
std::span<const OperatorRule> IndexingRules();   ///< Gather, scatter, embedding.
std::span<const OperatorRule> OptimizerRules();  ///< Fused and foreach operators on tensor lists.
std::span<const OperatorRule>
FamilyOnlyRules();  ///< Operators that only call others, and collectives.

}  // namespace headroom
