#include "whatif/scenarios/tensor_cores.h"

#include <algorithm>

#include "analysis/names/operator_costs.h"
#include "kernels/tensor_core_time.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
std::map<HostEventId, std::vector<TaskIndex>> Float32Products(const Job& job) {
  std::map<HostEventId, std::vector<TaskIndex>> operators;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostEventId op = job.ContextOf(task).costed;
    const OperatorCost* cost = op.valid() ? job.CostOf(op) : nullptr;
    if (cost == nullptr || cost->math_dtype != DType::kF32) continue;
    if (cost->family != WorkFamily::kMatmul && cost->family != WorkFamily::kConvolution) continue;
    operators[op].push_back(task);
  }
  std::erase_if(operators, [&](const auto& entry) {
    return std::any_of(entry.second.begin(), entry.second.end(), [&](TaskIndex task) {
      return job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
    });
  });
  return operators;
}

namespace {

std::optional<DurationNs> TimeOnTensorCores(const OperatorCall& call, DType dtype,
                                            const DeviceSpec& device) {
  if (const std::optional<GemmShape> shape = GemmShapeOf(call))
    return TensorCoreGemmTime(*shape, LayoutOf(call, *shape, dtype), dtype, device);
  if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call))
    return TensorCoreConvolutionTime(*shape, dtype, device);
  return std::nullopt;
}

}  // namespace

bool MoveToTensorCores(const Job& job, HostEventId op, const std::vector<TaskIndex>& tasks,
                       DType dtype, Edit& edit) {
  const OperatorCall* call = job.CallOf(op);
  const OperatorCost* cost = job.CostOf(op);
  if (!call || cost == nullptr) return false;
  if (IsFewChannelsConvolution(*call)) {
    // Such convolutions run without tensor cores. Their factor in 16 bits was not measured. Assumes
    // a value between that of halved bytes (0.5) and that of unchanged instructions (1).
    constexpr double kHalf = 0.75;
    if (dtype != DType::kTF32 && cost->math_dtype == DType::kF32) {
      for (const TaskIndex task : tasks) edit.Scale(task, kHalf);
    }
    return false;
  }
  if (IsRecurrent(call->name)) {
    DurationNs now{0};
    for (const TaskIndex task : tasks) now += edit.DurationOf(task);
    const auto then = TensorCoreRecurrentTime(*cost, now, dtype, *job.device());
    if (!then || now.ns() <= 0) return false;
    // The operator's kernels still run in parallel on several streams.
    for (const TaskIndex task : tasks)
      edit.Scale(task, static_cast<double>(then->ns()) / static_cast<double>(now.ns()));
  } else {
    const auto time = TimeOnTensorCores(*call, dtype, *job.device());
    if (!time) return false;
    // With TF32 enabled, a library may still choose float32.
    if (!ReplaceTasks(job, tasks, *time, edit) && dtype == DType::kTF32) return false;
  }
  edit.SetPrecision(tasks.front(), dtype == DType::kTF32   ? Precision::kTF32
                                   : dtype == DType::kBF16 ? Precision::kBF16
                                                           : Precision::kF16);
  return true;
}

DurationNs AddedHostTime(const Job& job, HostEventId op, TaskIndex first_task, DType dtype) {
  const HostCosts& costs = job.calibration().host;
  if (job.CostOf(op)->family == WorkFamily::kConvolution) {
    return Nanoseconds(job.ContextOf(first_task).phase == Phase::kBackward
                           ? costs.backward_convolution
                           : costs.forward_convolution);
  }
  return dtype == DType::kTF32 ? Nanoseconds(costs.tf32_product) : DurationNs(0);
}

}  // namespace headroom
