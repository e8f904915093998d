#include "whatif/scenarios/precision/tensor_cores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "analysis/names/operator_costs.h"
#include "cost/roofline.h"
#include "kernels/recurrent_time.h"
#include "kernels/tensor_core_time.h"
#include "render/number_format.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {

DType TypeOf(Precision precision) {
  switch (precision) {
    case Precision::kTF32:
      return DType::kTF32;
    case Precision::kF16:
      return DType::kF16;
    case Precision::kBF16:
      return DType::kBF16;
    case Precision::kF8:
      return DType::kF8;
  }
  return DType::kUnknown;
}

Products ProductsOfFloat32(const Job& job) {
  Products operators;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostEventId op = job.ContextOf(task).costed;
    const OperatorCost* cost = op.valid() ? job.CostOf(op) : nullptr;
    if (cost == nullptr || cost->math_dtype != DType::kF32) continue;
    if (cost->family != WorkFamily::kMatmul && cost->family != WorkFamily::kConvolution) continue;
    operators[op].push_back(task);
  }
  return operators;
}

Products Float32Products(const Job& job) {
  Products operators = ProductsOfFloat32(job);
  std::erase_if(operators, [&](const auto& entry) {
    return std::any_of(entry.second.begin(), entry.second.end(), [&](TaskIndex task) {
      return job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
    });
  });
  return operators;
}

namespace {

/// Returns the type in which a product runs on tensor cores, according to its operands or, if these
/// are unknown, to its kernels; kUnknown if it runs without.
DType TypeOnTensorCores(const Job& job, const LaunchingOperator& op) {
  const OperatorCost* cost = job.CostOf(op.op);
  for (const TaskIndex task : op.tasks) {
    const DType dtype =
        ResolveMathDType(cost ? cost->math_dtype : DType::kUnknown, job.ClassOf(task));
    if (IsTensorCoreType(dtype) || dtype == DType::kF8) return dtype;
  }
  return DType::kUnknown;
}

std::optional<DurationNs> TimeOnTensorCores(const Job& job, const OperatorCall& call, DType dtype) {
  const DeviceSpec& device = *job.device();
  // Small cards do not hold their clock.
  const double sustained = job.rates() != nullptr ? job.rates()->clock_share : 1;
  if (const std::optional<GemmShape> shape = GemmShapeOf(call))
    return TensorCoreGemmTime(*shape, LayoutOf(call, *shape, dtype), dtype, device, sustained);
  if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call))
    return TensorCoreConvolutionTime(*shape, dtype, device, ActivationOrder::kChannelsFirst,
                                     sustained);
  return std::nullopt;
}

/// Replaces the kernels of a recurrent operator. Returns false if its time is unknown or not
/// shorter.
bool MoveRecurrent(const Job& job, HostEventId op, const OperatorCall& call,
                   const std::vector<TaskIndex>& tasks, DType dtype, Edit& edit) {
  const std::optional<RecurrentWork> work = RecurrentWorkOf(call);
  if (!work || job.rates() == nullptr) return false;
  const std::optional<double> ns = RecurrentNs(*work, dtype, *job.rates(), job.kernel_constants());
  if (!ns) return false;
  // Its kernels run on several streams, so their sum exceeds the time from first to last.
  const auto span = static_cast<double>(SpanOf(job, tasks).ns());
  if (span <= 0 || *ns >= span) return false;
  if (IsPersistent(*work, dtype, *job.rates())) {
    // The stream of the steps holds most of the time. Others only hold products before and after.
    std::map<StreamId, double> by_stream;
    const auto stream_of = [&](TaskIndex task) {
      return job.store().gpu_tasks.stream[job.graph().tasks[task].row];
    };
    for (const TaskIndex task : tasks)
      by_stream[stream_of(task)] += static_cast<double>(edit.DurationOf(task).ns());
    const auto busiest =
        std::ranges::max_element(by_stream, {}, [](const auto& stream) { return stream.second; });
    const TaskIndex kept = *std::ranges::find_if(
        tasks, [&](TaskIndex task) { return stream_of(task) == busiest->first; });
    std::vector<TaskIndex> others;
    std::ranges::copy_if(tasks, std::back_inserter(others),
                         [&](TaskIndex task) { return task != kept; });
    edit.SetDuration(kept, Nanoseconds(*ns));
    RemoveTasks(job, others, edit);
    // The library's work on the host is that of its launches.
    const double left = RecurrentKernels(*work, dtype, *job.rates()) /
                        static_cast<double>(std::max<std::size_t>(1, tasks.size()));
    if (left < 1) {
      ScaleHost(job, SelectHost(job, [&](HostEventId event) { return event == op; }), left, edit);
    }
    return true;
  }
  for (const TaskIndex task : tasks) edit.Scale(task, *ns / span);
  return true;
}

}  // namespace

Effect NoProducts(const Job& job, std::string_view nothing) {
  std::set<std::string_view> types;
  bool any = false;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    if (!IsProduct(job, op)) continue;
    any = true;
    if (const DType dtype = TypeOnTensorCores(job, op); dtype != DType::kUnknown)
      types.insert(Name(dtype));
  }
  Effect effect =
      NotFound(job, any ? nothing : "the job has no matrix products or convolutions",
               {"matrix products and convolutions", [&](const LaunchingOperator& op) {
                  return IsProduct(job, op) && TypeOnTensorCores(job, op) == DType::kUnknown;
                }});
  if (effect.abstention == Abstention::kUnknown || types.empty()) return effect;
  return Effect::Already(
      fmt::format("the matrix products and convolutions run in {}", fmt::join(types, " and ")));
}

std::optional<Effect> AlreadyIn16Bits(const Job& job) {
  constexpr double kMaxFloat32 = 0.05;  // Share of the products' time.
  std::set<std::string_view> types;
  double short_ns = 0, float_ns = 0;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    if (!IsProduct(job, op)) continue;
    const DType dtype = TypeOnTensorCores(job, op);
    const bool is_short = dtype != DType::kUnknown && dtype != DType::kTF32;
    if (is_short) types.insert(Name(dtype));
    for (const TaskIndex task : op.tasks)
      (is_short ? short_ns : float_ns) += static_cast<double>(job.corrected().duration[task]);
  }
  if (types.empty() || float_ns > kMaxFloat32 * (short_ns + float_ns)) return std::nullopt;
  std::string what =
      fmt::format("the matrix products and convolutions run in {}", fmt::join(types, " and "));
  if (float_ns > 0) {
    what += fmt::format("; float32 takes {} of their time",
                        FormatPercent(100 * float_ns / (short_ns + float_ns)));
  }
  return Effect::Already(std::move(what));
}

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
    if (!MoveRecurrent(job, op, *call, tasks, dtype, edit)) return false;
  } else {
    const auto time = TimeOnTensorCores(job, *call, dtype);
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
