#include "scale/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/verdict/remedies.h"
#include "network/collectives.h"
#include "scale/stage_partition.h"
#include "whatif/job/gradients.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/workload/batch_size.h"

namespace headroom {
namespace {

constexpr std::string_view kTensorNetwork = "tensor-parallel";

}  // namespace

TensorParallel::TensorParallel(const TracedLayers& layers, std::int64_t ways)
    : layers_(layers),
      job_(layers.job()),
      ways_(static_cast<double>(ways)),
      updates_(FindOptimizerSteps(job_)),
      gradient_shares_(job_.graph().tasks.size(), 1.0) {
  for (const TracedLayers::Shard& shard : layers.shards()) {
    for (const TaskIndex task : shard.forward) gradient_shares_[task] = 1 / ways_;
  }
}

Result<TensorParallel> TensorParallel::Share(const TracedLayers& layers, std::int64_t ways) {
  if (std::fmod(layers.width(), static_cast<double>(ways)) != 0) {
    return Status::NoAnswer(fmt::format(
        "layers of width {:.0f} cannot be split evenly over {} GPUs", layers.width(), ways));
  }
  return TensorParallel(layers, ways);
}

double TensorParallel::UpdateShare() const {
  double all = 0, own = 0;
  for (const GradientStep& step : FindGradients(job_)) {
    for (const Gradient& gradient : step.gradients) {
      all += gradient.bytes;
      own += gradient.bytes * GradientShare(gradient.forward);
    }
  }
  return all > 0 ? own / all : 1;
}

void TensorParallel::ScaleUpdate(double share, Edit& edit) const {
  const auto scaled = [&](DurationNs time) {
    return share > 0 ? WithWork(time, share) : DurationNs(0);
  };
  std::vector<bool> of_update(job_.graph().tasks.size());
  for (const OptimizerStep& step : updates_) {
    for (const TaskIndex task : step.tasks) {
      of_update[task] = true;
      if (!edit.IsRemoved(task)) edit.SetDuration(task, scaled(edit.DurationOf(task)));
    }
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (!of_update[kernel.before_task]) continue;
    kernel.duration = scaled(kernel.duration);
    if (share <= 0) kernel.host_work = kernel.launch = DurationNs(0);
  }
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
  // No task waits for the last task of a recording.
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
  for (TaskIndex task = 0; task < job_.graph().tasks.size(); ++task) {
    if (layers_.is_shared()[task] && !edit.IsRemoved(task))
      edit.SetDuration(task, WithLessWork(job_, job_.device(), task, 1 / ways_, edit));
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (layers_.is_shared()[kernel.before_task])
      kernel.duration = WithWork(kernel.duration, 1 / ways_);
  }
  ScaleUpdate(UpdateShare(), edit);
  const double bytes = layers_.LayerBytes(batch_ratio, edit);
  const std::uint32_t channel = edit.AddChannel({.name = kTensorNetwork});
  std::size_t sums = 0;
  for (const TracedLayers::Shard& shard : layers_.shards()) {
    for (const TaskIndex task : shard.sums) InsertSum(task, group, bytes, channel, edit);
    sums += shard.sums.size();
  }
  Effect effect;
  effect.gpu_error = ErrorAtBatch({}, 1 / ways_);
  effect.transfer_error = kNetworkError;
  effect.why = fmt::format(
      "{} layers split over {:.0f} GPUs, with {:.3g} blocking all-reduces of {:.1f} MB per step",
      layers_.size(), ways_, static_cast<double>(sums) / job_.graph().steps, bytes / 1e6);
  return effect;
}

Result<PipelineStages> TensorParallel::Stages(std::int64_t stages) const {
  const std::vector<GradientStep> gradients = FindGradients(job_);
  if (gradients.empty()) {
    return Status::NoAnswer(fmt::format(
        "stages require training, and no shape shows the gradient of a parameter: record "
        "training steps, with shapes ({})",
        RemedyOf(ImportIssue::kNoShapes, job_.store().metadata.recorded_as())));
  }
  std::vector<LayerWork> layers(layers_.size());
  for (TaskIndex task = 0; task < job_.graph().tasks.size(); ++task) {
    const Task& recorded = job_.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const HostContext& context = job_.ContextOf(task);
    const bool counts = context.phase == Phase::kForward || context.phase == Phase::kBackward;
    const HostEventId forward = context.phase == Phase::kForward ? context.op : context.forward;
    if (!counts || !forward.valid()) continue;
    layers[layers_.LayerOf(forward)].work +=
        static_cast<double>(recorded.duration.ns()) / (layers_.is_shared()[task] ? ways_ : 1);
  }
  for (const Gradient& gradient : gradients.front().gradients) {
    const std::size_t layer =
        gradient.forward == kNoTask ? 0 : layers_.LayerOf(job_.ContextOf(gradient.forward).op);
    layers[layer].gradients.push_back(gradient.bytes * GradientShare(gradient.forward));
  }
  return StagesOfLayers(layers, stages);
}

void TensorParallel::RemoveUpdate(Edit& edit) const {
  ScaleUpdate(0, edit);
  const std::vector<bool> inside = SelectHost(job_, [&](HostEventId event) {
    return std::any_of(updates_.begin(), updates_.end(),
                       [&](const OptimizerStep& step) { return step.range == event; });
  });
  ScaleHost(job_, inside, 0, edit);
}

}  // namespace headroom
