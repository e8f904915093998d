// batch-size: another number of samples a step. Work on activations grows with it; work on weights
// alone (the update, the accumulation of gradients) does not, and neither does the host's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/operator_costs.h"
#include "whatif/catalogue.h"
#include "whatif/inserted_kernels.h"
#include "whatif/operators.h"
#include "whatif/selection.h"

namespace headroom {
namespace {

/// A product of few blocks fills its last wave of processors badly: that part of its time does not
/// grow with the work. The share of a wave that is lost, and the blocks that a processor runs at
/// once, were measured on one H200.
constexpr double kBlocksAtOnce = 2;

/// For twice or half the batch, and again for each doubling.
constexpr double kKernelError = 0.07;
/// Beyond this ratio, kernels may be other ones altogether.
constexpr double kFarAway = 4;

/// Leading extent of the first tensor.
std::optional<std::int64_t> LeadingExtent(const OperatorCall& call) {
  for (const OperatorArg& arg : call.args) {
    if (arg.kind == OperatorArg::Kind::kTensor && !arg.tensors.empty() &&
        !arg.tensors[0].dims.empty())
      return arg.tensors[0].dims[0];
  }
  return std::nullopt;
}

/// The samples of a step: what most tensors that are copied to the GPU begin with; without such
/// copies, what most inputs of forward operators begin with.
std::optional<std::int64_t> FindBatchSize(const Job& job) {
  std::map<std::int64_t, std::int64_t> copied, used;
  HostEventId last;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const HostContext& context = job.ContextOf(task);
    if (!context.op.valid() || context.op == last) continue;
    last = context.op;
    const bool copy = job.store().gpu_tasks.copy[recorded.row] == CopyKind::kHostToDevice;
    if (!copy && context.phase != Phase::kForward) continue;
    const std::optional<OperatorCall> call = ReadOperatorCall(job.store(), context.op);
    const std::optional<std::int64_t> extent = call ? LeadingExtent(*call) : std::nullopt;
    if (extent) ++(copy ? copied : used)[*extent];
  }
  const auto& counts = copied.empty() ? used : copied;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) return std::nullopt;
  return most->first;
}

/// Whether the task works on weights alone.
bool WorksOnWeights(const Job& job, TaskIndex task) {
  if (job.ContextOf(task).phase == Phase::kOptimizer) return true;
  if (job.ClassOf(task).family == WorkFamily::kOptimizer) return true;
  const std::string_view op = NameOfOperator(job, job.ContextOf(task).op);
  if (op.find("embedding_dense_backward") != std::string_view::npos) return true;
  for (HostEventId around = job.ContextOf(task).op; around.valid();
       around = job.store().host_events.parent[around.index()]) {
    if (NameOfOperator(job, around).find("AccumulateGrad") != std::string_view::npos) return true;
  }
  // A split product adds its parts: as many as the weights.
  return job.NameOf(task).find("splitKreduce") != std::string_view::npos;
}

/// Share of a product's time that does not grow.
double LostShare(const Job& job, TaskIndex task, double ratio) {
  const auto& tasks = job.store().gpu_tasks;
  const std::uint32_t row = job.graph().tasks[task].row;
  if (job.device() == nullptr || !job.device()->sm_count || tasks.grid_x[row] <= 0) return 0;
  const double blocks = static_cast<double>(tasks.grid_x[row]) * std::max(1, tasks.grid_y[row]) *
                        std::max(1, tasks.grid_z[row]);
  const SustainedShares& shares = job.calibration().kernels;
  const double wave = *job.device()->sm_count * kBlocksAtOnce;
  return std::min(
      shares.most_lost,
      (ratio > 1 ? shares.lost_when_growing : shares.lost_when_shrinking) * wave / blocks);
}

}  // namespace

Effect ApplyBatchSize(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::optional<std::int64_t> batch = FindBatchSize(job);
  if (!batch || *batch <= 0) {
    return Effect::Abstain(
        "the batch size cannot be told: no shapes were recorded (record_shapes=True)");
  }
  const double ratio = arguments.Number("n") / static_cast<double>(*batch);
  for (const TaskIndex task :
       SelectTasks(job, [&](TaskIndex t) { return !WorksOnWeights(job, t); })) {
    if (job.ClassOf(task).family == WorkFamily::kCommunication) continue;
    if (MultipliesMatrices(job.ClassOf(task).family)) {
      const double lost = LostShare(job, task, ratio);
      edit.Scale(task, lost + (1 - lost) * ratio);
    } else {
      edit.SetDuration(task, WithWork(edit.DurationOf(task), ratio));
    }
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (kernel.per_sample) kernel.duration = WithWork(kernel.duration, ratio);
  }
  for (Edit::ChannelTask& copy : edit.channel_tasks()) {
    if (copy.per_sample) copy.Scale(ratio);
  }
  Effect effect;
  effect.why = fmt::format("{} samples a step instead of {}", arguments.Text("n"), *batch);
  effect.memory_delta_bytes = 0;
  effect.memory_change.batch_ratio = ratio;
  effect.gpu_error = kKernelError * std::max(1.0, std::abs(std::log2(ratio)));
  effect.work = ratio;
  const bool near = ratio <= kFarAway && ratio >= 1 / kFarAway;
  effect.validated = near ? ValidityOn(job) : Validity::kOutOfRange;
  return effect;
}

}  // namespace headroom
