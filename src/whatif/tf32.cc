// tf32: matrix products and convolutions in float32 run on tensor cores, in 19 bits. Their times
// come from shapes (cost/kernel_time.h), never longer than they were; everything else stays. The
// library asks the driver more before each such call, which costs the host.
#include <algorithm>
#include <map>

#include "analysis/operator_costs.h"
#include "cost/kernel_time.h"
#include "whatif/catalogue.h"
#include "whatif/selection.h"

namespace headroom {
namespace {

/// Added host time a call, measured on one H200 machine.
constexpr DurationNs kHostPerProduct{8'000};
constexpr DurationNs kHostPerForwardConvolution{12'000};
constexpr DurationNs kHostPerBackwardConvolution{20'000};

/// The error of the kernel times, as a share (measured: totals of whole jobs within 3 %).
constexpr double kKernelError = 0.06;

/// Time of an operator on tensor cores; nullopt where its shapes do not tell.
std::optional<DurationNs> TimeOnTensorCores(const OperatorCall& call, DType dtype,
                                            const DeviceSpec& device) {
  if (const std::optional<GemmShape> shape = GemmShapeOf(call))
    return TensorCoreGemmTime(*shape, LayoutOf(call, *shape, dtype), dtype, device);
  const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call);
  if (!shape) return std::nullopt;
  const std::optional<DurationNs> part = TensorCoreConvolutionTime(*shape, dtype, device);
  if (!part) return std::nullopt;
  const int parts = std::max(1, int{shape->data_gradient} + int{shape->weight_gradient});
  return DurationNs(part->ns() * parts);
}

}  // namespace

Effect ApplyTf32(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  if (job.device() == nullptr)
    return Effect::Abstain("the GPU is not in the device catalogue, so its TF32 peak is not known");
  if (!job.device()->tf32_tensor_tflops)
    return Effect::Abstain("this GPU has no TF32 tensor cores");
  // GPU tasks of each eligible operator, in order of time.
  std::map<HostEventId, std::vector<TaskIndex>> operators;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostEventId op = job.ContextOf(task).costed;
    const OperatorCost* cost = op.valid() ? job.CostOf(op) : nullptr;
    if (cost == nullptr || cost->math_dtype != DType::kF32) continue;
    if (cost->family != WorkFamily::kMatmul && cost->family != WorkFamily::kConvolution) continue;
    operators[op].push_back(task);
  }
  std::int64_t unknown = 0, changed = 0;
  for (const auto& [op, tasks] : operators) {
    const bool used = std::any_of(tasks.begin(), tasks.end(), [&](TaskIndex task) {
      return job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
    });
    if (used) continue;
    const std::optional<OperatorCall> call = ReadOperatorCall(job.store(), op);
    const std::optional<DurationNs> time =
        call ? TimeOnTensorCores(*call, DType::kTF32, *job.device()) : std::nullopt;
    if (!time) {
      ++unknown;
      continue;
    }
    ++changed;
    ReplaceTasks(job, tasks, *time, edit);
    const bool convolution = job.CostOf(op)->family == WorkFamily::kConvolution;
    const bool backward = job.ContextOf(tasks.front()).phase == Phase::kBackward;
    const TaskIndex launch = job.LaunchOf(tasks.front());
    if (launch != kNoTask) {
      edit.AddWorkBefore(launch, !convolution ? kHostPerProduct
                                 : backward   ? kHostPerBackwardConvolution
                                              : kHostPerForwardConvolution);
    }
  }
  if (changed == 0) {
    return Effect::Abstain(unknown > 0
                               ? "no shapes of matrix products were recorded (record_shapes=True)"
                               : "no matrix product or convolution runs in float32 without tensor "
                                 "cores");
  }
  Effect effect;
  effect.gpu_error = kKernelError;
  effect.memory_delta_bytes = 0;
  effect.validated = job.device()->short_name == "H200" ? Validity::kYes : Validity::kOutOfRange;
  return effect;
}

}  // namespace headroom
