#include "scale/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/operator_costs.h"
#include "cluster/collectives.h"
#include "cost/operator_cost.h"
#include "scale/transformer_layers.h"
#include "whatif/batch_size.h"
#include "whatif/gradients.h"
#include "whatif/inserted_kernels.h"
#include "whatif/network.h"
#include "whatif/operators.h"
#include "whatif/selection.h"
#include "whatif/why_not_found.h"

namespace headroom {
namespace {

constexpr std::string_view kTensorNetwork = "tensor-parallel";

ForwardOperator Describe(const Job& job, const LaunchingOperator& launching) {
  ForwardOperator op;
  const std::string_view name = NameOfOperator(job, launching.op);
  if (FamilyOfOperator(name) == WorkFamily::kAttention) {
    op.kind = ForwardOperator::Kind::kAttention;
    return op;
  }
  const std::optional<OperatorCall> call = ReadOperatorCall(job.store(), launching.op);
  if (!call) return op;
  if (const std::optional<GemmShape> shape = GemmShapeOf(*call)) {
    const bool batched = shape->batch > 1 || name.find("bmm") != std::string_view::npos;
    op.kind = batched ? ForwardOperator::Kind::kAttention : ForwardOperator::Kind::kProduct;
    op.rows = static_cast<double>(shape->m);
    op.inputs = static_cast<double>(shape->k);
    op.outputs = static_cast<double>(shape->n);
    return op;
  }
  // It gathers by operators of its own.
  const HostEventId outermost = OutermostOperator(job, launching.op);
  if (NameOfOperator(job, outermost) != "aten::embedding") return op;
  const std::optional<OperatorCall> lookup = ReadOperatorCall(job.store(), outermost);
  const TensorArg* table = lookup ? FirstTensor(*lookup) : nullptr;
  if (table != nullptr && table->dims.size() == 2) {
    op.kind = ForwardOperator::Kind::kLookup;
    op.table = ElementsOf(*table);
  }
  return op;
}

}  // namespace

/// The operators of one step's forward, in order.
struct TensorParallel::Forward {
  std::vector<LaunchingOperator> launching;
  std::vector<ForwardOperator> operators;
};

TensorParallel::TensorParallel(const Job& job, std::int64_t ways)
    : job_(job),
      ways_(static_cast<double>(ways)),
      updates_(FindOptimizerSteps(job)),
      gradient_shares_(job.graph().tasks.size(), 1.0) {}

Result<TensorParallel> TensorParallel::Find(const Job& job, std::int64_t ways) {
  TensorParallel found(job, ways);
  if (Status status = found.AddForwards(); !status.ok()) return status;
  found.AddBackward();
  return found;
}

Status TensorParallel::AddForwards() {
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
        "no layers of a transformer are recognised by their shapes (record_shapes=True): a product "
        "behind batched products, or behind a fused attention; and only those can be shared out or "
        "put into stages");
  }
  if (HasBackward(job_) && !job_.attribution().KnowsForward()) {
    return Status::NoAnswer(
        "the trace does not tell which backward belongs to which forward (sequence numbers)");
  }
  return Status::Ok();
}

Status TensorParallel::AddForward(const Forward& forward) {
  const std::optional<TransformerLayers> found = FindTransformerLayers(forward.operators);
  if (!found) return Status::Ok();
  if (std::fmod(found->width, ways_) != 0) {
    return Status::NoAnswer(
        fmt::format("layers of width {:.0f} cannot be shared out evenly over {:.0f} GPUs",
                    found->width, ways_));
  }
  const auto row_of = [&](std::size_t op) {
    return static_cast<std::uint32_t>(OutermostOperator(job_, forward.launching[op].op).index());
  };
  for (const TensorShard& shard : found->shards) {
    const LaunchingOperator& last = forward.launching[shard.last];
    Shard& added = shards_.emplace_back();
    added.rows = {row_of(shard.first), EndRow(job_, OutermostOperator(job_, last.op))};
    added.sums_backward = shard.SumsBackward();
    if (shard.SumsForward()) added.sum.push_back(last.tasks.back());
    // By rows: what casts a weight comes before its product.
    for (const LaunchingOperator& op : forward.launching) {
      const auto row = static_cast<std::uint32_t>(op.op.index());
      if (row < added.rows.first || row >= added.rows.last) continue;
      for (const TaskIndex task : op.tasks) gradient_shares_[task] = 1 / ways_;
      // Of a lookup, each has the rows of all words, if zeroes.
      if (shard.kind != TensorShard::Kind::kLookup)
        added.shared.insert(added.shared.end(), op.tasks.begin(), op.tasks.end());
    }
    if (summed_product_ == kNoTask && shard.kind == TensorShard::Kind::kAttention) {
      summed_product_ = last.tasks.front();
      element_bytes_ =
          BytesPerElement(GemmShapeOf(*ReadOperatorCall(job_.store(), last.op))->dtype);
    }
  }
  sum_elements_ = found->rows * found->width;
  const std::vector<std::size_t> begins = found->LayerBegins();
  if (layers_of_step_ != 0 && layers_of_step_ != begins.size())
    return Status::NoAnswer("the recorded steps do not have as many layers each");
  layers_of_step_ = begins.size();
  // What comes before the first layer goes with it.
  layers_.push_back(row_of(0));
  for (std::size_t layer = 1; layer < begins.size(); ++layer)
    layers_.push_back(row_of(begins[layer]));
  return Status::Ok();
}

TensorParallel::Shard* TensorParallel::ShardAround(std::uint32_t row) {
  const auto behind = std::upper_bound(
      shards_.begin(), shards_.end(), row,
      [](std::uint32_t value, const Shard& shard) { return value < shard.rows.first; });
  if (behind == shards_.begin() || row >= (behind - 1)->rows.last) return nullptr;
  return &*(behind - 1);
}

void TensorParallel::AddBackward() {
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
    if (shard->sums_backward) shard->sum.push_back(end);
  }
}

double TensorParallel::SumBytes(double batch_ratio, const Edit* edit) const {
  constexpr double kHalfPrecisionBytes = 2;
  const bool halved = edit != nullptr && edit->PrecisionOf(summed_product_) &&
                      *edit->PrecisionOf(summed_product_) != Precision::kTF32;
  return sum_elements_ * batch_ratio * (halved ? kHalfPrecisionBytes : element_bytes_);
}

double TensorParallel::UpdateShare() const {
  double all = 0, own = 0;
  for (const GradientStep& step : FindGradients(job_)) {
    for (const Gradient& gradient : step.gradients) {
      all += gradient.bytes;
      own +=
          gradient.bytes * (gradient.forward == kNoTask ? 1 : gradient_shares_[gradient.forward]);
    }
  }
  return all > 0 ? own / all : 1;
}

void TensorParallel::InsertSum(TaskIndex behind, const GpuGroup& group, double bytes,
                               std::uint32_t channel, Edit& edit) const {
  const CollectiveTime time =
      FastestTime(Collective::kAllReduce, bytes, group.topology, group.placement);
  Edit::ChannelTask sum;
  sum.channel = channel;
  sum.step = job_.graph().tasks[behind].step;
  sum.bytes = bytes;
  sum.latency = time.latency;
  sum.duration = time.Total();
  sum.after = {{.task = behind}};
  const TaskIndex next = NextOnStream(job_, behind);
  // Behind the last task of a recording nothing waits.
  if (next == kNoTask) {
    edit.Insert(std::move(sum));
    return;
  }
  Edit::NewKernel launch = KernelBefore(job_, next, DurationNs(0));
  launch.after = {{.task = edit.Insert(std::move(sum))}};
  launch.in_front = true;
  edit.Insert(std::move(launch));
}

Effect TensorParallel::Apply(const GpuGroup& group, double batch_ratio, Edit& edit) const {
  std::vector<bool> is_shared(job_.graph().tasks.size());
  for (const Shard& shard : shards_) {
    for (const TaskIndex task : shard.shared) {
      is_shared[task] = true;
      if (!edit.IsRemoved(task))
        edit.SetDuration(task, WithLessWork(job_, job_.device(), task, 1 / ways_, edit));
    }
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (is_shared[kernel.before_task]) kernel.duration = WithWork(kernel.duration, 1 / ways_);
  }
  const double update = UpdateShare();
  for (const OptimizerStep& step : updates_) {
    for (const TaskIndex task : step.tasks) {
      if (!edit.IsRemoved(task)) edit.SetDuration(task, WithWork(edit.DurationOf(task), update));
    }
  }
  const double bytes = SumBytes(batch_ratio, &edit);
  const std::uint32_t channel = edit.AddChannel({.name = kTensorNetwork});
  std::size_t sums = 0;
  for (const Shard& shard : shards_) {
    for (const TaskIndex task : shard.sum) InsertSum(task, group, bytes, channel, edit);
    sums += shard.sum.size();
  }
  Effect effect;
  effect.gpu_error = ErrorAtBatch({}, 1 / ways_);
  effect.transfer_error = kNetworkError;
  effect.why = fmt::format(
      "{} layers shared out over {:.0f} GPUs, with {:.3g} all-reduces of {:.1f} MB a step on which "
      "all wait",
      layers_of_step_, ways_, static_cast<double>(sums) / job_.graph().steps, bytes / 1e6);
  return effect;
}

std::size_t TensorParallel::LayerOf(HostEventId forward) const {
  const auto behind =
      std::upper_bound(layers_.begin(), layers_.end(), static_cast<std::uint32_t>(forward.index()));
  if (behind == layers_.begin()) return 0;
  return static_cast<std::size_t>(behind - layers_.begin() - 1) % layers_of_step_;
}

Result<PipelineStages> TensorParallel::Stages(std::int64_t stages) const {
  std::vector<bool> is_shared(job_.graph().tasks.size());
  for (const Shard& shard : shards_) {
    for (const TaskIndex task : shard.shared) is_shared[task] = true;
  }
  std::vector<LayerWork> layers(layers_of_step_);
  for (TaskIndex task = 0; task < job_.graph().tasks.size(); ++task) {
    const Task& recorded = job_.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const HostContext& context = job_.ContextOf(task);
    const HostEventId forward = context.phase == Phase::kForward ? context.op : context.forward;
    const bool counts = context.phase == Phase::kForward || context.phase == Phase::kBackward;
    if (!counts || !forward.valid()) continue;
    layers[LayerOf(forward)].work +=
        static_cast<double>(recorded.duration.ns()) / (is_shared[task] ? ways_ : 1);
  }
  const std::vector<GradientStep> gradients = FindGradients(job_);
  if (!gradients.empty()) {
    for (const Gradient& gradient : gradients.front().gradients) {
      const bool known = gradient.forward != kNoTask;
      LayerWork& layer = layers[known ? LayerOf(job_.ContextOf(gradient.forward).op) : 0];
      layer.gradient_bytes += gradient.bytes * (known ? gradient_shares_[gradient.forward] : 1);
    }
  }
  return StagesOfLayers(layers, SumBytes(1, nullptr), stages);
}

void TensorParallel::RemoveUpdate(Edit& edit) const {
  for (const OptimizerStep& step : updates_) {
    for (const TaskIndex task : step.tasks) {
      if (!edit.IsRemoved(task)) edit.SetDuration(task, DurationNs(0));
    }
  }
  ScaleHost(job_,
            SelectHost(job_,
                       [&](HostEventId event) {
                         return std::any_of(
                             updates_.begin(), updates_.end(),
                             [&](const OptimizerStep& step) { return step.range == event; });
                       }),
            0, edit);
}

}  // namespace headroom
