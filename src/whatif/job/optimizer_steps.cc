#include "whatif/job/optimizer_steps.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/names/operator_costs.h"
#include "whatif/job/gradients.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

/// Fused AdamW reads parameter, gradient and two moments, and writes parameter and moments. SGD
/// with momentum reads parameter, gradient and buffer, and writes parameter and buffer; without
/// momentum it has no buffer. The foreach figures count the list operators of torch/optim/adamw.py
/// and sgd.py (2.11) without weight decay, and measurements agree: on an H200, AdamW of 109 and of
/// 124 million parameters takes 1.6 and 1.8 ms longer with foreach, SGD with momentum of 144
/// million 0.4 ms. Adam has two temporary tensors: the root of the second moment, and its quotient
/// by the bias correction.
constexpr UpdateAlgorithm kAdam{"Adam", "aten::addcdiv_", 7, 21, 2};
constexpr UpdateAlgorithm kMomentum{"SGD", "aten::mul_", 5, 8, 0};
constexpr UpdateAlgorithm kPlainSgd{"SGD", "aten::add_", 3, 3, 0};

}  // namespace

std::vector<HostEventId> OptimizerRanges(const Job& job) {
  const auto& events = job.store().host_events;
  std::vector<HostEventId> range_of(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row), parent = events.parent[row];
    if (parent.valid()) range_of[row] = range_of[parent.index()];
    if (!range_of[row].valid() && events.kind[row] == HostEventKind::kAnnotation &&
        job.RolesOf(event).Has(HostRole::kOptimizerStep))
      range_of[row] = event;
  }
  return range_of;
}

std::vector<OptimizerStep> FindOptimizerSteps(const Job& job) {
  const std::vector<HostEventId> range_of = OptimizerRanges(job);
  std::map<HostEventId, OptimizerStep> steps;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const HostEventId launch = job.store().gpu_tasks.launch[recorded.row];
    if (!launch.valid() || !range_of[launch.index()].valid()) continue;
    OptimizerStep& step = steps[range_of[launch.index()]];
    step.range = range_of[launch.index()];
    step.tasks.push_back(task);
  }
  std::vector<OptimizerStep> in_order;
  in_order.reserve(steps.size());
  for (auto& [range, step] : steps) in_order.push_back(std::move(step));
  return in_order;
}

std::vector<TaskIndex> ClippingTasks(const Job& job) {
  std::vector<TaskIndex> clipping;
  for (const OptimizerStep& step : FindOptimizerSteps(job)) {
    for (TaskIndex task = step.tasks.front(); task-- > 0;) {
      if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
      const HostContext& context = job.ContextOf(task);
      if (context.phase == Phase::kBackward || context.phase == Phase::kOptimizer) break;
      const std::string_view op = NameOfOperator(job, context.op);
      const bool of_gradients = op.find("_norm") != std::string_view::npos ||
                                op.find("mul_") != std::string_view::npos ||
                                op.find("unscale") != std::string_view::npos;
      if (of_gradients) clipping.push_back(task);
    }
  }
  return clipping;
}

const UpdateAlgorithm* AlgorithmOf(const Job& job, HostEventId range) {
  const auto& names = job.store().host_events.name;
  const std::string_view name = job.store().Text(names[range.index()]);
  if (name.find(kAdam.name) != std::string_view::npos) return &kAdam;
  if (name.find(kMomentum.name) == std::string_view::npos) return nullptr;
  // Only the momentum's decay multiplies: aten::mul_ or aten::_foreach_mul_. A fused kernel, and an
  // update without operators, count as the usual form, with momentum.
  bool has_operators = false;
  for (auto row = static_cast<std::uint32_t>(range.index()) + 1; row < EndRow(job, range); ++row) {
    if (job.store().host_events.kind[row] != HostEventKind::kOperator) continue;
    const std::string_view op = NameOfOperator(job, HostEventId(row));
    if (op.ends_with("mul_") || op.find("_fused_") != std::string_view::npos) return &kMomentum;
    has_operators |= op.ends_with("add_");
  }
  return has_operators ? &kPlainSgd : &kMomentum;
}

const UpdateAlgorithm* AlgorithmOf(const Job& job, const OptimizerStep& step) {
  return AlgorithmOf(job, step.range);
}

std::vector<TensorArg> CountedParameters(const Job& job, const OptimizerStep& step) {
  const UpdateAlgorithm* algorithm = AlgorithmOf(job, step);
  if (algorithm == nullptr) return {};
  std::vector<TensorArg> parameters;
  HostEventId last;
  for (const TaskIndex task : step.tasks) {
    const HostEventId op = job.ContextOf(task).op;
    if (!op.valid() || op == last) continue;
    last = op;
    if (NameOfOperator(job, op) != algorithm->counted) continue;
    const OperatorCall* call = job.CallOf(op);
    if (!call || call->args.empty() || call->args[0].tensors.size() != 1) continue;
    parameters.push_back(call->args[0].tensors[0]);
  }
  return parameters;
}

namespace {

/// Returns true if an accumulation adds to a gradient that exists.
bool AddsToGradientOf(const Job& job, HostEventId accumulation) {
  const auto& parent = job.store().host_events.parent;
  for (auto row = static_cast<std::uint32_t>(accumulation.index()) + 1;
       row < EndRow(job, accumulation); ++row) {
    const HostEventId child(row);
    if (parent[row] == accumulation && NameOfOperator(job, child).starts_with("aten::add"))
      return true;
  }
  return false;
}

}  // namespace

std::vector<TensorArg> AccumulatedParameters(const Job& job, const OptimizerStep& step) {
  const auto& events = job.store().host_events;
  const TimeNs until = events.start[step.range.index()];
  TimeNs from(INT64_MIN);  // Start of the previous update.
  // The update and the backward run on different threads, so rows are not in order of time.
  std::vector<std::pair<TimeNs, HostEventId>> accumulations;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row);
    if (events.start[row] >= until) continue;
    if (events.kind[row] == HostEventKind::kAnnotation) {
      if (job.RolesOf(event).Has(HostRole::kOptimizerStep))
        from = std::max(from, events.start[row]);
    } else if (NameOfOperator(job, event) == kAccumulateGrad) {
      accumulations.emplace_back(events.start[row], event);
    }
  }
  std::sort(accumulations.begin(), accumulations.end());
  std::vector<TensorArg> first, added;
  for (const auto& [start, event] : accumulations) {
    if (start < from) continue;
    const OperatorCall* call = job.CallOf(event);
    if (!call || call->args.empty() || call->args[0].tensors.size() != 1) continue;
    (AddsToGradientOf(job, event) ? added : first).push_back(call->args[0].tensors[0]);
  }
  return first.empty() ? added : first;
}

std::vector<double> BytesOfParameters(const Job& job, const OptimizerStep& step) {
  std::vector<double> bytes;
  for (const TensorArg& parameter : CountedParameters(job, step))
    bytes.push_back(ElementsOf(parameter) * BytesPerElement(parameter.dtype));
  return bytes;
}

double ParameterBytes(const Job& job, const OptimizerStep& step) {
  const std::vector<double> bytes = BytesOfParameters(job, step);
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

}  // namespace headroom
