// Formulas behind operator_cost.h, one list per kind of work. Internal to this folder.
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

/// Cost rule of one operator.
struct OperatorRule {
  /// Full name, e.g. "aten::mm". An in-place variant ("aten::add_") shares the rule of "aten::add".
  std::string_view name;
  WorkFamily family = WorkFamily::kUnclassified;
  CostFormula formula = nullptr;  ///< nullptr: only the family is known, not the cost.
  double flops_per_element = 0;   ///< Used by some formulas only.
  int tensor_inputs = 0;          ///< Number of tensors read; one more is the `out=`.
};

/// Result of FindRule.
struct FoundRule {
  const OperatorRule* rule = nullptr;  ///< nullptr if the operator has no rule.
  bool in_place = false;               ///< Found by dropping a trailing underscore.
};
FoundRule FindRule(std::string_view operator_name);

std::span<const OperatorRule> MatmulRules();
std::span<const OperatorRule> ConvolutionRules();
std::span<const OperatorRule> AttentionRules();
std::span<const OperatorRule> RecurrentRules();
std::span<const OperatorRule> PointwiseRules();
/// Reductions, softmax, normalization, pooling, losses.
std::span<const OperatorRule> RowwiseRules();
std::span<const OperatorRule> IndexingRules();   ///< Gather, scatter, embedding.
std::span<const OperatorRule> OptimizerRules();  ///< Fused and foreach operators on tensor lists.
/// Operators with a family but without a cost.
std::span<const OperatorRule> FamilyOnlyRules();

}  // namespace headroom
