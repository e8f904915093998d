// fused-optimizer: one kernel a step (kind=fused) or a few over lists of parameters (kind=foreach)
// in place of several for each parameter. The update is bound by memory: its time is the bytes that
// it must move for each parameter, at the sustained bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/operator_costs.h"
#include "whatif/catalogue.h"
#include "whatif/selection.h"

namespace headroom {
namespace {

/// An algorithm's traffic, in tensors of the parameters' size that are read or written.
struct Algorithm {
  std::string_view name;     ///< In the name of the optimizer's range.
  std::string_view counted;  ///< An operator that updates each parameter once.
  double fused;              ///< Each operand once.
  double foreach;            ///< Each operand of each of its list operators.
};

/// AdamW fused: reads parameter, gradient and two moments, writes parameter and moments; foreach:
/// counted from the list operators of torch/optim/adamw.py (2.11) and measured alike. SGD with
/// momentum: parameter, gradient, buffer; parameter, buffer.
constexpr Algorithm kAlgorithms[] = {
    {"Adam", "aten::addcdiv_", 7, 21},
    {"SGD", "aten::mul_", 5, 7},
};

/// Of the data sheet's bandwidth (measured: 3.4 of 4.8 TB/s).
constexpr double kSustained = 0.71;

/// Host time of one step of the optimizer, measured on one H200 machine.
constexpr DurationNs kHostFused{500'000}, kHostForeach{1'500'000};

constexpr double kKernelError = 0.1;

/// One execution of the optimizer's step.
struct OptimizerStep {
  HostEventId range;
  std::vector<TaskIndex> tasks;
};

std::vector<OptimizerStep> FindSteps(const Job& job) {
  const auto& events = job.store().host_events;
  // Of each event, the optimizer's range around it.
  std::vector<HostEventId> range_of(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row), parent = events.parent[row];
    if (parent.valid()) range_of[row] = range_of[parent.index()];
    if (!range_of[row].valid() && events.kind[row] == HostEventKind::kAnnotation &&
        job.RolesOf(event).Has(HostRole::kOptimizerStep))
      range_of[row] = event;
  }
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
  for (auto& [range, step] : steps) in_order.push_back(std::move(step));
  return in_order;
}

/// Bytes of the parameters, from the shapes of an operator that runs once for each.
double ParameterBytes(const Job& job, const OptimizerStep& step, std::string_view counted) {
  double bytes = 0;
  HostEventId last;
  for (const TaskIndex task : step.tasks) {
    const HostEventId op = job.ContextOf(task).op;
    if (!op.valid() || op == last) continue;
    last = op;
    if (job.store().Text(job.store().host_events.name[op.index()]) != counted) continue;
    const std::optional<OperatorCall> call = ReadOperatorCall(job.store(), op);
    if (!call || call->args.empty() || call->args[0].tensors.size() != 1) continue;
    double elements = 1;
    for (const std::int64_t extent : call->args[0].tensors[0].dims)
      elements *= static_cast<double>(extent);
    bytes += elements * BytesPerElement(call->args[0].tensors[0].dtype);
  }
  return bytes;
}

bool Uses(const Job& job, const OptimizerStep& step, std::string_view part) {
  return std::any_of(step.tasks.begin(), step.tasks.end(), [&](TaskIndex task) {
    const HostEventId op = job.ContextOf(task).op;
    return op.valid() && job.store().Text(job.store().host_events.name[op.index()]).find(part) !=
                             std::string_view::npos;
  });
}

}  // namespace

Effect ApplyFusedOptimizer(const Job& job, const Arguments& arguments, Edit& edit) {
  const bool fused = arguments.Text("kind") == "fused";
  const std::vector<OptimizerStep> steps = FindSteps(job);
  if (steps.empty())
    return Effect::Abstain("no optimizer step was recorded (a range \"Optimizer.step#...\")");
  if (Uses(job, steps.front(), "_fused_")) return Effect::Abstain("the optimizer is fused already");
  if (Uses(job, steps.front(), "_foreach_")) {
    return Effect::Abstain(fused
                               ? "the optimizer works on lists already, and lists record no shapes"
                               : "the optimizer works on lists already (foreach)");
  }
  const std::string_view name =
      job.store().Text(job.store().host_events.name[steps.front().range.index()]);
  const auto algorithm =
      std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                   [&](const Algorithm& a) { return name.find(a.name) != std::string_view::npos; });
  if (algorithm == std::end(kAlgorithms))
    return Effect::Abstain("only Adam, AdamW and SGD with momentum are known");
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain("the GPU's memory bandwidth is not known");

  std::vector<bool> in_step = SelectHost(job, [&](HostEventId event) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const OptimizerStep& step) { return step.range == event; });
  });
  std::vector<std::pair<TaskIndex, DurationNs>> kept;  // Launches, with their durations.
  std::vector<TaskIndex> gone;
  for (const OptimizerStep& step : steps) {
    const double bytes = ParameterBytes(job, step, algorithm->counted);
    const TaskIndex launch = job.LaunchOf(step.tasks.front());
    if (bytes == 0 || launch == kNoTask) {
      return Effect::Abstain("the parameters' shapes were not recorded (record_shapes=True)");
    }
    const double moved = bytes * (fused ? algorithm->fused : algorithm->foreach);
    edit.SetDuration(step.tasks.front(),
                     DurationNs(static_cast<std::int64_t>(
                         moved / (*job.device()->memory_bandwidth_gbs * kSustained))));
    kept.emplace_back(launch, edit.DurationOf(launch));
    gone.insert(gone.end(), step.tasks.begin() + 1, step.tasks.end());
  }
  ScaleHost(job, in_step, 0, edit);
  RemoveTasks(job, gone, edit);
  for (const auto& [launch, duration] : kept) {
    edit.SetDuration(launch, duration);
    edit.AddWorkBefore(launch, fused ? kHostFused : kHostForeach);
  }
  Effect effect;
  effect.gpu_error = kKernelError;
  effect.memory_delta_bytes = fused ? std::optional<std::int64_t>(0) : std::nullopt;
  effect.validated = job.device()->short_name == "H200" ? Validity::kYes : Validity::kOutOfRange;
  return effect;
}

}  // namespace headroom
