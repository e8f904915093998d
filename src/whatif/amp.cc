// amp: autocast to a 16-bit type, for fp16 with gradient scaling. Products and convolutions take
// what their shapes take on tensor cores; what reads and writes 16-bit tensors moves half the
// bytes; casts come in as kernels with launches of their own, which a host-bound job pays for.
#include <cmath>
#include <set>

#include "analysis/operator_costs.h"
#include "whatif/autocast.h"
#include "whatif/catalogue.h"
#include "whatif/inserted_kernels.h"
#include "whatif/optimizer_steps.h"
#include "whatif/selection.h"
#include "whatif/tensor_cores.h"

namespace headroom {
namespace {

// A cast reads four bytes and writes two, or the other way.
constexpr double kCastBytes = 6;

// Gradient scaling: one pass over all gradients that reads and writes them, and the host waits for
// whether any was infinite.
constexpr double kScalerBytes = 2;

constexpr double kKernelError = 0.13;

/// Inserts the scaler's pass before each update; false: the parameters are not known. With an
/// optimizer that is fused, the update itself checks, and the host need not wait.
bool InsertGradientScaler(const Job& job, Edit& edit) {
  const HostCosts& costs = job.calibration().host;
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  for (const OptimizerStep& step : steps) {
    const double bytes = ParameterBytes(job, step);
    const TaskIndex launch = job.LaunchOf(step.tasks.front());
    if (bytes == 0 || launch == kNoTask) return false;
    const bool fused = edit.IsRemoved(step.tasks.back());
    edit.Insert({.before_task = step.tasks.front(),
                 .before_call = launch,
                 .duration = DurationNs(std::llround(bytes * kScalerBytes /
                                                     (*job.device()->memory_bandwidth_gbs *
                                                      job.calibration().kernels.update_bytes))),
                 .host_work = Nanoseconds(costs.gradient_scaler),
                 .launch = Nanoseconds(costs.cast_launch),
                 .waiting_call = fused ? kNoTask : launch});
  }
  return !steps.empty();
}

/// Whether any product or convolution computes in a 16-bit type.
bool RunsIn16Bits(const Job& job) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostEventId op = job.ContextOf(task).costed;
    const OperatorCost* cost = op.valid() ? job.CostOf(op) : nullptr;
    if (cost == nullptr || !MultipliesMatrices(cost->family)) continue;
    if (cost->math_dtype == DType::kF16 || cost->math_dtype == DType::kBF16) return true;
  }
  return false;
}

}  // namespace

Effect ApplyAmp(const Job& job, const Arguments& arguments, Edit& edit) {
  const DType dtype = arguments.Text("dtype") == "bf16" ? DType::kBF16 : DType::kF16;
  const DeviceSpec* device = job.device();
  if (device == nullptr || !device->memory_bandwidth_gbs)
    return Effect::Abstain("the GPU is not in the device catalogue, so its peaks are not known");
  if (!(dtype == DType::kBF16 ? device->bf16_tensor_tflops : device->fp16_tensor_tflops))
    return Effect::Abstain("this GPU has no tensor cores for that type");
  std::set<HostEventId> on_float32;
  for (const auto& [op, tasks] : Float32Products(job)) on_float32.insert(op);
  const HostCosts& costs = job.calibration().host;
  std::int64_t products = 0;
  for (const AutocastOperator& op : FollowAutocast(job, dtype)) {
    if (IsReplaced(op.tasks, edit)) {
      for (const TaskIndex task : op.tasks) {
        if (!edit.HasOtherWork(task)) continue;
        if (const auto time = edit.In16Bits(task)) edit.SetDuration(task, *time);
      }
      continue;
    }
    if (op.product) {
      const std::optional<OperatorCall> call = ReadOperatorCall(job.store(), op.op);
      const std::optional<DurationNs> time =
          call ? TimeOnTensorCores(*call, dtype, *device) : std::nullopt;
      if (time && job.CostOf(op.op) != nullptr) {
        products += on_float32.contains(op.op) ? 1 : 0;
        ReplaceTasks(job, op.tasks, *time, edit);
        edit.SetPrecision(op.tasks.front(),
                          dtype == DType::kBF16 ? Precision::kBF16 : Precision::kF16);
        if (const TaskIndex launch = job.LaunchOf(op.tasks.front()); launch != kNoTask)
          edit.AddWorkBefore(launch, AddedHostTime(job, op.op, op.tasks.front(), dtype));
      }
    } else if (op.scale != 1) {
      for (const TaskIndex task : op.tasks)
        edit.SetDuration(task, WithWork(edit.DurationOf(task), op.scale));
    }
    const TaskIndex task = op.tasks.front();
    const TaskIndex launch = job.LaunchOf(task);
    if (launch == kNoTask) continue;
    for (const Cast& cast : op.casts) {
      edit.Insert({.before_task = task,
                   .before_call = launch,
                   .duration = MemoryPassTime(cast.elements * kCastBytes, *device),
                   .host_work = Nanoseconds(costs.cast_work),
                   .launch = Nanoseconds(costs.cast_launch),
                   .per_sample = !cast.of_weight});
    }
  }
  if (products == 0) {
    return Effect::Abstain(RunsIn16Bits(job)
                               ? "the matrix products and convolutions run in 16 bits already"
                               : "no matrix product or convolution in float32 with recorded shapes "
                                 "(record_shapes=True)");
  }
  Effect effect;
  if (dtype == DType::kF16 && !InsertGradientScaler(job, edit)) {
    effect.why = "without the gradient scaler's pass: the parameters' shapes are not known";
  }
  effect.memory_delta_bytes = 0;
  effect.memory_change.autocast = true;
  effect.gpu_error = kKernelError;
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
