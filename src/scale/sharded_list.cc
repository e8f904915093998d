#include "scale/sharded_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "scale/transformer_layers.h"

namespace headroom {
namespace {

constexpr double kBytesPerFloat = 4;  // Lists use float32.

/// Consecutive rows of a list that belong to one operator.
struct Stretch {
  std::int64_t op = 0;
  std::size_t first = 0, last = 0;  ///< `last` is exclusive.
};

std::vector<Stretch> StretchesOf(const OperatorList& list) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (stretches.empty() || stretches.back().op != list.works[i].op)
      stretches.push_back({.op = list.works[i].op, .first = i, .last = i});
    stretches.back().last = i + 1;
  }
  return stretches;
}

ForwardOperator Describe(const OperatorList& list, const Stretch& stretch) {
  ForwardOperator op;
  for (std::size_t i = stretch.first; i < stretch.last; ++i) {
    const ListedWork& listed = list.works[i];
    if (listed.phase == StepPhase::kAccumulate)
      op.table = std::max(op.table, listed.gradient_bytes / kBytesPerFloat);
    const auto* product = std::get_if<ProductWork>(&listed.work.shape);
    if (listed.phase != StepPhase::kForward || product == nullptr) continue;
    // An outer product computes angles from positions.
    op.kind = !product->batched ? ForwardOperator::Kind::kProduct
              : product->k > 1  ? ForwardOperator::Kind::kAttention
                                : ForwardOperator::Kind::kOther;
    op.rows = product->m;
    op.inputs = product->k;
    op.outputs = product->n;
  }
  if (op.kind == ForwardOperator::Kind::kOther && op.table > 0)
    op.kind = ForwardOperator::Kind::kLookup;
  return op;
}

class ListSharder {
 public:
  ListSharder(OperatorList& list, double ways) : list_(list), ways_(ways) {}

  /// @param by_rows  true: splits the product's inputs; false: splits its outputs
  void Share(const Stretch& stretch, const ForwardOperator& op, bool by_rows) {
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      ListedWork& listed = list_.works[i];
      if (listed.phase == StepPhase::kAccumulate) {
        // If a product is split by rows, every GPU keeps the whole bias.
        const bool whole = by_rows && listed.gradient_bytes <= op.outputs * kBytesPerFloat;
        if (!whole) ShareParameter(listed);
        continue;
      }
      if (op.kind == ForwardOperator::Kind::kLookup && listed.phase == StepPhase::kForward)
        continue;  // Each GPU computes the rows of all tokens, with zeros for words that it lacks.
      if (auto* product = std::get_if<ProductWork>(&listed.work.shape)) {
        ShareProduct(*product, listed.phase, op, by_rows);
      } else if (auto* pointwise = std::get_if<PointwiseWork>(&listed.work.shape)) {
        pointwise->bytes /= ways_;
      } else if (auto* rowwise = std::get_if<RowwiseWork>(&listed.work.shape)) {
        rowwise->rows = std::max(1.0, std::round(rowwise->rows / ways_));
      }
    }
  }

 private:
  void ShareParameter(ListedWork& listed) const {
    listed.gradient_bytes /= ways_;
    if (auto* pointwise = std::get_if<PointwiseWork>(&listed.work.shape)) pointwise->bytes /= ways_;
  }

  void ShareProduct(ProductWork& product, StepPhase phase, const ForwardOperator& op,
                    bool by_rows) const {
    if (product.batched) {
      product.batch = std::max(1.0, std::round(product.batch / ways_));
      return;
    }
    // The gradient of the input is (rows x outputs) by (outputs x inputs); that of the weight is
    // (outputs x rows) by (rows x inputs).
    const double extent = by_rows ? op.inputs : op.outputs;
    std::array<double*, 3> order = {&product.k, &product.m, &product.n};
    if (by_rows) order = {&product.n, &product.m, &product.k};
    if (phase == StepPhase::kForward) std::swap(order.front(), order.back());
    const auto* const cut = std::find_if(
        order.begin(), order.end(), [&](const double* dimension) { return *dimension == extent; });
    double& dimension = cut == order.end() ? *order.front() : **cut;
    dimension = std::max(1.0, std::ceil(dimension / ways_));
  }

  OperatorList& list_;
  double ways_;
};

}  // namespace

Result<ShardedList> ShardList(const OperatorList& list, std::int64_t ways) {
  const std::vector<Stretch> stretches = StretchesOf(list);
  std::vector<ForwardOperator> forward;
  forward.reserve(stretches.size());
  for (const Stretch& stretch : stretches) forward.push_back(Describe(list, stretch));
  const std::optional<TransformerLayers> layers = FindTransformerLayers(forward);
  if (!layers) {
    return Status::NoAnswer(
        "the list has no transformer layers (a product after batched products), and only "
        "those can be split over GPUs or into stages");
  }
  const auto width = static_cast<std::int64_t>(layers->width);
  if (width % ways != 0) {
    return Status::NoAnswer(
        fmt::format("layers of width {} cannot be split evenly over {} GPUs", width, ways));
  }
  ShardedList out;
  out.list = list;
  out.layer_bytes = layers->rows * layers->width * kBytesPerFloat;
  for (const std::size_t first : layers->LayerBegins())
    out.layer_begins.insert(stretches[first].op);
  if (ways == 1) return out;
  ListSharder sharder(out.list, static_cast<double>(ways));
  for (const TensorShard& shard : layers->shards) {
    for (std::size_t i = shard.first; i <= shard.last; ++i) {
      const bool by_rows = i == shard.last && (shard.kind == TensorShard::Kind::kAttention ||
                                               shard.kind == TensorShard::Kind::kFeedForward);
      sharder.Share(stretches[i], forward[i], by_rows);
    }
    if (shard.SumsForward()) out.forward_sums[stretches[shard.last].op] = out.layer_bytes;
    if (shard.SumsBackward()) out.backward_sums[stretches[shard.first].op] = out.layer_bytes;
  }
  return out;
}

}  // namespace headroom
