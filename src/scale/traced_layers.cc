#include "scale/traced_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "analysis/verdict/remedies.h"
#include "cost/operator_cost.h"
#include "scale/transformer_layers.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

ForwardOperator Describe(const Job& job, const LaunchingOperator& launching) {
  using Kind = ForwardOperator::Kind;
  ForwardOperator op;
  const std::string_view name = NameOfOperator(job, launching.op);
  if (FamilyOfOperator(name) == WorkFamily::kAttention) {
    op.kind = Kind::kAttention;
    return op;
  }
  const OperatorCall* call = job.CallOf(launching.op);
  if (!call) return op;
  if (const std::optional<GemmShape> shape = GemmShapeOf(*call)) {
    const bool batched = shape->batch > 1 || name.find("bmm") != std::string_view::npos;
    // An outer product computes angles from positions.
    op.kind = !batched ? Kind::kProduct : shape->k > 1 ? Kind::kAttention : Kind::kOther;
    op.rows = static_cast<double>(shape->m);
    op.inputs = static_cast<double>(shape->k);
    op.outputs = static_cast<double>(shape->n);
    return op;
  }
  // An embedding launches its gather through nested operators.
  const HostEventId outermost = OutermostOperator(job, launching.op);
  if (NameOfOperator(job, outermost) != "aten::embedding") return op;
  const OperatorCall* lookup = job.CallOf(outermost);
  const TensorArg* table = lookup ? FirstTensor(*lookup) : nullptr;
  if (table != nullptr && table->dims.size() == 2) {
    op.kind = Kind::kLookup;
    op.table = ElementsOf(*table);
  }
  return op;
}

}  // namespace

/// The operators of one step's forward, in order.
struct TracedLayers::Forward {
  std::vector<LaunchingOperator> launching;
  std::vector<ForwardOperator> operators;
};

TracedLayers::TracedLayers(const Job& job) : job_(job), is_shared_(job.graph().tasks.size()) {}

Result<TracedLayers> TracedLayers::Find(const Job& job) {
  TracedLayers found(job);
  if (Status status = found.AddForwards(); !status.ok()) return status;
  found.AddBackward();
  return found;
}

Status TracedLayers::AddForwards() {
  std::map<std::int32_t, Forward> forwards;
  for (LaunchingOperator& op : LaunchingOperators(job_)) {
    const TaskIndex task = op.tasks.front();
    if (job_.ContextOf(task).phase != Phase::kForward) continue;
    Forward& forward = forwards[job_.graph().tasks[task].step];
    forward.operators.push_back(Describe(job_, op));
    forward.launching.push_back(std::move(op));
  }
  for (const auto& [step, forward] : forwards) {
    if (Status status = AddForward(forward); !status.ok()) return status;
  }
  if (shards_.empty()) {
    return Status::NoAnswer(
        fmt::format("no shapes match transformer layers (a product after batched products or after "
                    "a fused attention), and only such layers can be split over GPUs or into "
                    "stages; if no shapes were recorded, record them ({})",
                    RemedyOf(ImportIssue::kNoShapes, job_.store().metadata.recorded_as())));
  }
  if (HasBackward(job_) && !job_.attribution().KnowsForward()) {
    return Status::NoAnswer(
        "the trace has no sequence numbers that match backward with forward operators");
  }
  return Status::Ok();
}

Status TracedLayers::AddForward(const Forward& forward) {
  const std::optional<TransformerLayers> found = FindTransformerLayers(forward.operators);
  if (!found) return Status::Ok();
  const auto row_of = [&](std::size_t op) {
    return static_cast<std::uint32_t>(OutermostOperator(job_, forward.launching[op].op).index());
  };
  std::size_t next = 0;  // Operators and shards are sorted by row.
  for (const TensorShard& shard : found->shards) {
    const LaunchingOperator& last = forward.launching[shard.last];
    Shard& added = shards_.emplace_back();
    added.first_row = row_of(shard.first);
    added.end_row = EndRow(job_, OutermostOperator(job_, last.op));
    added.sums_backward = shard.SumsBackward();
    if (shard.SumsForward()) added.sums.push_back(last.tasks.back());
    // Assigns operators by row, because a cast of a weight precedes the weight's product.
    for (; next < forward.launching.size(); ++next) {
      const LaunchingOperator& op = forward.launching[next];
      if (op.op.index() >= added.end_row) break;
      if (op.op.index() < added.first_row) continue;
      added.forward.insert(added.forward.end(), op.tasks.begin(), op.tasks.end());
    }
    // In a lookup, each GPU computes the rows of all words, with zeros for words that it lacks.
    if (shard.kind != TensorShard::Kind::kLookup) added.shared = added.forward;
    if (output_product_ == kNoTask && shard.kind == TensorShard::Kind::kAttention) {
      output_product_ = last.tasks.front();
      element_bytes_ =
          BytesPerElement(GemmShapeOf(*ReadOperatorCall(job_.store(), last.op))->dtype);
    }
  }
  width_ = found->width;
  layer_elements_ = found->rows * found->width;
  const std::vector<std::size_t> begins = found->LayerBegins();
  if (layers_of_step_ != 0 && layers_of_step_ != begins.size())
    return Status::NoAnswer("the recorded steps differ in their number of layers");
  layers_of_step_ = begins.size();
  first_rows_.push_back(row_of(0));
  for (std::size_t layer = 1; layer < begins.size(); ++layer)
    first_rows_.push_back(row_of(begins[layer]));
  return Status::Ok();
}

TracedLayers::Shard* TracedLayers::ShardAround(std::uint32_t row) {
  const auto behind = std::upper_bound(
      shards_.begin(), shards_.end(), row,
      [](std::uint32_t value, const Shard& shard) { return value < shard.first_row; });
  if (behind == shards_.begin() || row >= (behind - 1)->end_row) return nullptr;
  return &*(behind - 1);
}

void TracedLayers::AddBackward() {
  std::map<Shard*, TaskIndex> ends;
  for (TaskIndex task = 0; task < job_.graph().tasks.size(); ++task) {
    if (job_.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostContext& context = job_.ContextOf(task);
    if (context.phase != Phase::kBackward || !context.forward.valid()) continue;
    Shard* shard = ShardAround(static_cast<std::uint32_t>(context.forward.index()));
    if (shard == nullptr) continue;
    shard->shared.push_back(task);
    ends[shard] = task;
  }
  for (const auto& [shard, end] : ends) {
    if (shard->sums_backward) shard->sums.push_back(end);
  }
  for (const Shard& shard : shards_) {
    for (const TaskIndex task : shard.shared) is_shared_[task] = true;
  }
}

std::size_t TracedLayers::LayerOf(HostEventId forward) const {
  const auto behind = std::upper_bound(first_rows_.begin(), first_rows_.end(),
                                       static_cast<std::uint32_t>(forward.index()));
  if (behind == first_rows_.begin()) return 0;
  return static_cast<std::size_t>(behind - first_rows_.begin() - 1) % layers_of_step_;
}

double TracedLayers::LayerBytes(double batch_ratio, const Edit& edit) const {
  constexpr double kHalfPrecisionBytes = 2;
  const std::optional<Precision> changed = edit.PrecisionOf(output_product_);
  const bool halved = changed && *changed != Precision::kTF32;
  return layer_elements_ * batch_ratio * (halved ? kHalfPrecisionBytes : element_bytes_);
}

}  // namespace headroom
