// Gather, scatter, embedding. Each index counts as a separate element, because a profile does not
// show whether several indices pick the same element. Only the additions of an accumulating scatter
// count as FLOPs.
#include <algorithm>
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// (self, dim, index): picks whole slices. An embedding lookup runs as aten::index_select with dim
/// 0.
std::optional<OperatorCost> IndexSelect(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* index = TensorAt(call, 2);
  std::optional<std::int64_t> dim = IntAt(call, 1);
  if (self == nullptr || index == nullptr || !dim) return std::nullopt;
  if (*dim < 0) *dim += static_cast<std::int64_t>(self->dims.size());
  if (*dim < 0 || *dim >= static_cast<std::int64_t>(self->dims.size())) return std::nullopt;
  std::vector<std::int64_t> slice = self->dims;
  slice[static_cast<std::size_t>(*dim)] = 1;
  const double out = Elements(slice) * Elements(index->dims);
  Traffic traffic;
  traffic.Read(std::min(out, Elements(self->dims)), self->dtype);
  traffic.Read(*index);
  traffic.Write(out, self->dtype);
  return FinishCost(traffic, 0, DType::kF32, rule.family);
}

/// (self, dim, index): picks one element per index.
std::optional<OperatorCost> Gather(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* index = TensorAt(call, 2);
  if (self == nullptr || index == nullptr) return std::nullopt;
  const double out = Elements(index->dims);
  Traffic traffic;
  traffic.Read(std::min(out, Elements(self->dims)), self->dtype);
  traffic.Read(*index);
  traffic.Write(out, self->dtype);
  return FinishCost(traffic, 0, DType::kF32, rule.family);
}

/// (self, dim, index, source) in place. For each index, it reads one element of the source and
/// writes one to self. An accumulating scatter (flops_per_element > 0) also reads that element of
/// self. A source that is a number is not read.
std::optional<OperatorCost> ScatterInPlace(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* index = TensorAt(call, 2);
  if (self == nullptr || index == nullptr) return std::nullopt;
  const double touched = Elements(index->dims);
  Traffic traffic;
  traffic.Read(*index);
  if (TensorAt(call, 3) != nullptr) traffic.Read(touched, self->dtype);
  if (rule.flops_per_element > 0) traffic.Read(touched, self->dtype);
  traffic.Write(touched, self->dtype);
  return FinishCost(traffic, rule.flops_per_element * touched, DType::kF32, rule.family);
}

/// (grad_output, indices, num_weights, ...): writes the whole gradient of the table.
std::optional<OperatorCost> EmbeddingBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* grad = TensorAt(call, 0);
  const TensorArg* index = TensorAt(call, 1);
  const std::optional<std::int64_t> rows = IntAt(call, 2);
  if (grad == nullptr || index == nullptr || grad->dims.empty() || !rows || *rows < 0)
    return std::nullopt;
  Traffic traffic;
  traffic.Read(*grad);
  traffic.Read(*index);
  traffic.Write(static_cast<double>(*rows) * static_cast<double>(grad->dims.back()), grad->dtype);
  return FinishCost(traffic, Elements(grad->dims), DType::kF32, rule.family);
}

constexpr std::array kIndexingRules = {
    OperatorRule{"aten::index_select", WorkFamily::kIndexing, IndexSelect},
    OperatorRule{"aten::gather", WorkFamily::kIndexing, Gather},
    OperatorRule{"aten::scatter_", WorkFamily::kIndexing, ScatterInPlace},
    OperatorRule{"aten::scatter_add_", WorkFamily::kIndexing, ScatterInPlace, 1},
    OperatorRule{"aten::embedding_dense_backward", WorkFamily::kIndexing, EmbeddingBackward},
};

}  // namespace

std::span<const OperatorRule> IndexingRules() { return kIndexingRules; }

}  // namespace headroom
