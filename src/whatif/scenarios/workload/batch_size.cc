// batch-size: another number of samples per step. Work on activations grows with the batch. Work on
// weights only (the update, the accumulation of gradients) and the host's work do not.
#include "whatif/scenarios/workload/batch_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "cost/operator_cost.h"
#include "cost/roofline.h"
#include "kernels/batch_growth.h"
#include "kernels/recurrent_time.h"
#include "render/number_format.h"
#include "whatif/job/host_operators.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"
#include "whatif/scenarios/workload/batch_curve.h"
#include "whatif/scenarios/workload/batch_on_cpu.h"

namespace headroom {
namespace {

/// Blocks of a product that a multiprocessor runs at once (measured on one H200).
constexpr double kBlocksAtOnce = 2;

/// Relative error of the GPU times for twice or half the batch; multiplied by the number of
/// doublings.
constexpr double kBatchSizeError = 0.07;
/// Share of a convolution's time that an algorithm with fewer FLOPs may save. A profile does not
/// show which algorithm the library will choose.
constexpr double kFastAlgorithm = 0.3;
/// Upper bound of the relative error; below 1, because no work is instantaneous.
constexpr double kMaxError = 0.9;
/// Beyond this ratio of batch sizes, the library may choose different kernels.
constexpr double kFarAway = 4;

/// Returns true if the task works on weights only.
bool WorksOnWeights(const Job& job, TaskIndex task) {
  if (job.ContextOf(task).phase == Phase::kOptimizer) return true;
  if (job.ClassOf(task).family == WorkFamily::kOptimizer) return true;
  const std::string_view op = NameOfOperator(job, job.ContextOf(task).op);
  if (op.find("embedding_dense_backward") != std::string_view::npos) return true;
  for (HostEventId around = job.ContextOf(task).op; around.valid();
       around = job.store().host_events.parent[around.index()]) {
    if (NameOfOperator(job, around).find("AccumulateGrad") != std::string_view::npos) return true;
  }
  // A split-K product sums its parts, which have the size of the weights.
  return job.NameOf(task).find("splitKreduce") != std::string_view::npos;
}

/// Returns the number of waves of a product: its blocks, divided by those that run at once. Returns
/// nullopt if not recorded.
std::optional<double> WavesOf(const Job& job, const DeviceSpec* device, TaskIndex task) {
  const auto& tasks = job.store().gpu_tasks;
  const std::uint32_t row = job.graph().tasks[task].row;
  if (device == nullptr || !device->sm_count || tasks.grid_x[row] <= 0) return std::nullopt;
  const double blocks = static_cast<double>(tasks.grid_x[row]) * std::max(1, tasks.grid_y[row]) *
                        std::max(1, tasks.grid_z[row]);
  return blocks / (*device->sm_count * kBlocksAtOnce);
}

/// Returns the share of a product's time that does not shrink with fewer samples, because few
/// blocks fill their last wave of multiprocessors poorly.
double LostShare(const Job& job, const DeviceSpec* device, TaskIndex task, const Edit& edit) {
  // A kernel in another precision has other blocks than the recorded ones.
  if (edit.PrecisionOf(task)) return 0;
  const SustainedShares& shares = job.calibration().kernels;
  const std::optional<double> waves = WavesOf(job, device, task);
  return waves ? std::min(shares.most_lost, shares.lost_when_shrinking / *waves) : 0;
}

/// Returns the ratio of the times of a recurrent operator at `ratio` times the batch and as
/// recorded. Its steps wait for each other, and a step's product often fills only some
/// multiprocessors. Returns nullopt for other operators, and if the batch or the GPU is unknown.
std::optional<double> RecurrentGrowth(const Job& job, const OperatorCall& call, DType dtype,
                                      double ratio) {
  const std::optional<RecurrentWork> work = RecurrentWorkOf(call);
  if (!work || job.rates() == nullptr || ratio == 1) return std::nullopt;
  RecurrentWork other = *work;
  other.batch = std::max(1.0, std::round(work->batch * ratio));
  const std::optional<double> before =
      RecurrentNs(*work, dtype, *job.rates(), job.kernel_constants());
  const std::optional<double> after =
      RecurrentNs(other, dtype, *job.rates(), job.kernel_constants());
  if (!before || !after || *before <= 0) return std::nullopt;
  return *after / *before;
}

/// Returns the share of the time of an operator's products that does not grow with more samples.
double StayingShare(const Job& job, const DeviceSpec* device, HostEventId op, double ratio,
                    const std::vector<TaskIndex>& products, const Edit& edit) {
  const OperatorCall* call = job.CallOf(op);
  const OperatorCost* cost = job.CostOf(op);
  if (!call || cost == nullptr || device == nullptr) return 0;
  DurationNs time{0};
  bool tensor_cores = false;
  DType dtype = cost->math_dtype;
  for (const TaskIndex task : products) {
    time += edit.DurationOf(task);
    tensor_cores |= job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
    dtype = ResolveMathDType(dtype, job.ClassOf(task));
  }
  const std::optional<Precision> changed = edit.PrecisionOf(products.front());
  if (changed) {
    tensor_cores = true;
    dtype = TypeOf(*changed);
  }
  const TaskIndex longest = *std::max_element(
      products.begin(), products.end(),
      [&](TaskIndex a, TaskIndex b) { return edit.DurationOf(a) < edit.DurationOf(b); });
  // A kernel in another precision has other blocks than the recorded ones.
  const std::optional<double> waves = changed ? std::nullopt : WavesOf(job, device, longest);
  if (const std::optional<double> grown = RecurrentGrowth(job, *call, dtype, ratio))
    return (ratio - *grown) / (ratio - 1);
  const RanAs ran{.math_dtype = dtype, .tensor_cores = tensor_cores, .time = time, .waves = waves};
  return ShareThatStays(*call, ran, *device).value_or(0);
}

/// Returns true if the library may choose an algorithm with fewer FLOPs (FFT, Winograd) for more
/// samples. That applies to a float32 convolution with more than one tap and unchanged extents.
bool MayBecomeFast(const Job& job, HostEventId op, const std::vector<TaskIndex>& products,
                   const Edit& edit) {
  if (edit.PrecisionOf(products.front())) return false;
  const OperatorCall* call = job.CallOf(op);
  const std::optional<ConvolutionShape> shape =
      call ? ConvolutionShapeOf(*call) : std::optional<ConvolutionShape>();
  if (!shape || shape->dtype != DType::kF32 || shape->in != shape->out || shape->groups != 1 ||
      *std::max_element(shape->kernel.begin(), shape->kernel.end()) == 1)
    return false;
  return std::none_of(products.begin(), products.end(), [&](TaskIndex task) {
    const KernelClass& kernel = job.ClassOf(task);
    return kernel.fast_algorithm || kernel.tensor_cores == TensorCoreUse::kYes;
  });
}

/// Products, convolutions and recurrent operators at another batch size.
struct ScaledProducts {
  std::vector<bool> done;  ///< Indexed by task; true if the task has its new time.
  DoubtfulAtBatch doubtful = {};
};

ScaledProducts ScaleProducts(const Job& job, const DeviceSpec* device, double ratio, Edit& edit) {
  ScaledProducts out{.done = std::vector<bool>(job.graph().tasks.size())};
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const bool recurrent = IsRecurrent(NameOfOperator(job, op.op)) && job.CostOf(op.op) != nullptr;
    std::vector<TaskIndex> products;
    std::copy_if(
        op.tasks.begin(), op.tasks.end(), std::back_inserter(products), [&](TaskIndex task) {
          const bool is_product = MultipliesMatrices(job.ClassOf(task).family);
          return (recurrent || is_product) && !edit.IsRemoved(task) && !WorksOnWeights(job, task);
        });
    if (products.empty()) continue;
    const bool all_alike = ratio > 1 || recurrent;
    const double stays = all_alike ? StayingShare(job, device, op.op, ratio, products, edit) : 0;
    const bool fast = ratio > 1 && MayBecomeFast(job, op.op, products, edit);
    for (const TaskIndex task : products) {
      const double lost = all_alike ? stays : LostShare(job, device, task, edit);
      edit.Scale(task, lost + (1 - lost) * ratio);
      out.done[task] = true;
      if (fast) out.doubtful.may_become_fast += edit.DurationOf(task);
      if (recurrent) out.doubtful.recurrent += edit.DurationOf(task);
    }
  }
  return out;
}

}  // namespace

DurationNs WithLessWork(const Job& job, const DeviceSpec* device, TaskIndex task, double ratio,
                        const Edit& edit) {
  const DurationNs time = edit.DurationOf(task);
  if (!MultipliesMatrices(job.ClassOf(task).family)) return WithWork(time, ratio);
  const double lost = LostShare(job, device, task, edit);
  return DurationNs(std::llround(static_cast<double>(time.ns()) * (lost + (1 - lost) * ratio)));
}

DoubtfulAtBatch ScaleToBatch(const Job& job, const DeviceSpec* device, double ratio, Edit& edit) {
  const ScaledProducts products = ScaleProducts(job, device, ratio, edit);
  std::vector<bool> done = products.done;
  for (const TaskIndex task : ClippingTasks(job)) done[task] = true;  // The gradients stay.
  for (const TaskIndex task :
       SelectTasks(job, [&](TaskIndex t) { return !WorksOnWeights(job, t); })) {
    if (job.ClassOf(task).family == WorkFamily::kCommunication) continue;
    if (!done[task]) edit.SetDuration(task, WithWork(edit.DurationOf(task), ratio));
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (kernel.per_sample) kernel.duration = WithWork(kernel.duration, ratio);
  }
  for (Edit::ChannelTask& copy : edit.channel_tasks()) {
    if (copy.per_sample) copy.Scale(ratio);
  }
  DoubtfulAtBatch doubtful = products.doubtful;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu && !edit.IsRemoved(task))
      doubtful.all += edit.DurationOf(task);
  }
  return doubtful;
}

double ErrorAtBatch(const DoubtfulAtBatch& doubtful, double ratio) {
  const double of_algorithm = (kFastAlgorithm * static_cast<double>(doubtful.may_become_fast.ns()) +
                               kRecurrentError * static_cast<double>(doubtful.recurrent.ns())) /
                              std::max(1.0, static_cast<double>(doubtful.all.ns()));
  return std::min(kMaxError,
                  kBatchSizeError * std::max(1.0, std::abs(std::log2(ratio))) + of_algorithm);
}

Effect ApplyBatchSize(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::optional<std::int64_t> batch = SamplesPerStep(job);
  if (!batch && !job.HasGpuWork()) return Effect::Abstain(std::string(kNoOperatorsOnCpu));
  if (!batch || *batch <= 0) {
    return Effect::Abstain(
        "the batch size is unknown: " +
        WhyNotFound(job, "no operator of the forward has a tensor",
                    {.kind = "operators of the forward", .is = [&](const LaunchingOperator& op) {
                       return job.ContextOf(op.tasks.front()).phase == Phase::kForward;
                     }}));
  }
  if (!job.HasGpuWork()) {
    const std::optional<Effect> on_cpu =
        BatchSizeOnCpu(job, static_cast<double>(*batch), arguments.Number("n"), edit);
    return on_cpu.value_or(
        Effect::Abstain("no operator of the forward or the backward was recorded"));
  }
  const double ratio = arguments.Number("n") / static_cast<double>(*batch);
  const DoubtfulAtBatch doubtful = ScaleToBatch(job, job.device(), ratio, edit);
  Effect effect;
  effect.why =
      fmt::format("{} per step instead of {}",
                  Plural(static_cast<std::int64_t>(arguments.Number("n")), "sample"), *batch);
  effect.memory_delta_bytes = 0;
  effect.memory_change.batch_ratio = ratio;
  effect.gpu_error = ErrorAtBatch(doubtful, ratio);
  effect.work = ratio;
  const bool near = ratio <= kFarAway && ratio >= 1 / kFarAway;
  effect.validated = near ? ValidityOn(job) : Validity::kOutOfRange;
  if (doubtful.recurrent.ns() > 0) effect.validated = Validity::kNo;
  return effect;
}

}  // namespace headroom
