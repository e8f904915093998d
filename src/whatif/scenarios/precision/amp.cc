// amp: autocast to a 16-bit type, with gradient scaling for fp16. The times of matrix products and
// convolutions on tensor cores come from their shapes. Operators on 16-bit tensors move half the
// bytes. Casts are inserted as kernels with separate launches, which slow down a host-bound job.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "whatif/job/autocast.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

// Gradient scaling is one pass that reads and writes all gradients. The host waits until it knows
// if any gradient was infinite.
constexpr double kScalerBytes = 2;

constexpr double kAmpError = 0.13;

/// Returns the bytes of the gradients that a step updates by; 0 if unknown.
double GradientBytes(const Job& job, const OptimizerStep& step) {
  if (const double bytes = ParameterBytes(job, step); bytes > 0) return bytes;
  double bytes = 0;  // An update over lists has no shapes.
  for (const TensorArg& gradient : AccumulatedParameters(job, step))
    bytes += ElementsOf(gradient) * BytesPerElement(gradient.dtype);
  return bytes;
}

/// Inserts the scaler's pass before each update. Returns false if the parameters are unknown. A
/// fused optimizer checks the gradients inside the update, so the host need not wait.
bool InsertGradientScaler(const Job& job, Edit& edit) {
  const HostCosts& costs = job.calibration().host;
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  for (const OptimizerStep& step : steps) {
    const double bytes = GradientBytes(job, step);
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

}  // namespace

Effect ApplyAmp(const Job& job, const Arguments& arguments, Edit& edit) {
  const DType dtype = arguments.Text("dtype") == "bf16" ? DType::kBF16 : DType::kF16;
  const DeviceSpec* device = job.device();
  if (device == nullptr || !device->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  if (!(dtype == DType::kBF16 ? device->bf16_tensor_tflops : device->fp16_tensor_tflops))
    return Effect::Abstain(
        dtype == DType::kBF16 && device->fp16_tensor_tflops
            ? "this GPU has no tensor cores for bf16; amp:dtype=fp16 uses those for fp16"
            : fmt::format("this GPU has no tensor cores for {}", Name(dtype)));
  const Products in_float32 = ProductsOfFloat32(job), without_tensor_cores = Float32Products(job);
  if (in_float32.empty())
    return NoProducts(job, "no matrix product or convolution has float32 operands");
  if (std::optional<Effect> already = AlreadyIn16Bits(job)) return *std::move(already);
  const HostCosts& costs = job.calibration().host;
  std::int64_t products = 0;
  bool recurrent = false;
  for (const AutocastOperator& op : FollowAutocast(job, dtype)) {
    if (IsReplaced(op.tasks, edit)) {
      for (const TaskIndex task : op.tasks) {
        if (!edit.HasOtherWork(task)) continue;
        if (const auto time = edit.In16Bits(task)) edit.SetDuration(task, *time);
      }
      continue;
    }
    if (op.product) {
      if (MoveToTensorCores(job, op.op, op.tasks, dtype, edit)) {
        products += in_float32.contains(op.op) ? 1 : 0;
        recurrent |= IsRecurrent(NameOfOperator(job, op.op));
        const TaskIndex launch = job.LaunchOf(op.tasks.front());
        if (launch != kNoTask && without_tensor_cores.contains(op.op))
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
                   .duration = CastTime(cast, *device),
                   .host_work = Nanoseconds(costs.cast_work),
                   .launch = Nanoseconds(costs.cast_launch),
                   .per_sample = !cast.of_weight});
    }
  }
  if (products == 0)
    return Effect::Abstain(
        "the time of the products in 16 bits is unknown for their shapes on this GPU");
  Effect effect;
  if (dtype == DType::kF16 && !InsertGradientScaler(job, edit)) {
    effect.why = "excludes the gradient scaler's pass, because the parameters' shapes are unknown";
  }
  effect.memory_delta_bytes = 0;
  effect.memory_change.autocast = true;
  effect.gpu_error = kAmpError;
  effect.validated = without_tensor_cores.empty() ? Validity::kOutOfRange : ValidityOn(job);
  if (recurrent) effect.HoldRecurrent();
  return effect;
}

}  // namespace headroom
