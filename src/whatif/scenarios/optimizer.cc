// fused-optimizer: one kernel per step (kind=fused) or a few over lists of parameters
// (kind=foreach) replace several kernels per parameter. The update is memory-bound. Its time
// follows from the bytes that it must move per parameter and the sustained bandwidth. If shapes or
// the GPU are unknown, the time is that of the recorded kernels without repeated traffic.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/verdict/remedies.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr double kOptimizerError = 0.1;
/// Uncertainty of a time that depends only on the recorded kernels. Small kernels spend more time
/// on their start than on memory traffic. Measured for AdamW on an H200: 0.24 and 0.29 of the
/// recorded time; the forecast was 0.33.
constexpr double kErrorWithoutShapes = 0.5;

bool Uses(const Job& job, const OptimizerStep& step, std::string_view part) {
  return std::any_of(step.tasks.begin(), step.tasks.end(), [&](TaskIndex task) {
    const HostEventId op = job.ContextOf(task).op;
    return op.valid() && job.store().Text(job.store().host_events.name[op.index()]).find(part) !=
                             std::string_view::npos;
  });
}

/// Returns true if no kernel belongs to the step: it only copies gradients to the host and
/// parameters back.
bool RunsOnCpu(const Job& job, const OptimizerStep& step) {
  return std::none_of(step.tasks.begin(), step.tasks.end(), [&](TaskIndex task) {
    return job.store().gpu_tasks.kind[job.graph().tasks[task].row] == GpuTaskKind::kKernel;
  });
}

}  // namespace

Effect ApplyFusedOptimizer(const Job& job, const Arguments& arguments, Edit& edit) {
  const bool fused = arguments.Text("kind") == "fused";
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (steps.empty())
    return Effect::Abstain(
        "no optimizer step was recorded (expected a range \"Optimizer.step#...\")");
  if (RunsOnCpu(job, steps.front()))
    return Effect::Abstain("the optimizer runs on the CPU: its step has no kernel");
  if (Uses(job, steps.front(), "_fused_")) return Effect::Abstain("the optimizer is already fused");
  if (Uses(job, steps.front(), "_foreach_")) {
    return Effect::Abstain(fused ? "the optimizer already works on lists (foreach), and the trace "
                                   "has no shapes for lists"
                                 : "the optimizer already works on lists (foreach)");
  }
  const UpdateAlgorithm* algorithm = AlgorithmOf(job, steps.front());
  if (algorithm == nullptr)
    return Effect::Abstain("only Adam, AdamW and SGD with momentum are supported");
  const bool knows_bandwidth = job.device() != nullptr && job.device()->memory_bandwidth_gbs;
  const bool knows_bytes = std::all_of(steps.begin(), steps.end(), [&](const OptimizerStep& step) {
    return ParameterBytes(job, step) > 0;
  });
  const double accesses = fused ? algorithm->fused : algorithm->foreach;
  const auto time_of = [&](const OptimizerStep& step) {
    if (knows_bandwidth && knows_bytes) {
      return ParameterBytes(job, step) * accesses /
             (*job.device()->memory_bandwidth_gbs * job.calibration().kernels.update_bytes);
    }
    double recorded = 0;
    for (const TaskIndex task : step.tasks)
      recorded += static_cast<double>(edit.DurationOf(task).ns());
    return recorded * accesses / algorithm->foreach;
  };

  std::vector<bool> in_step = SelectHost(job, [&](HostEventId event) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const OptimizerStep& step) { return step.range == event; });
  });
  std::vector<std::pair<TaskIndex, DurationNs>> kept;  // Launches, with their durations.
  std::vector<TaskIndex> gone;
  for (const OptimizerStep& step : steps) {
    const TaskIndex launch = job.LaunchOf(step.tasks.front());
    if (launch == kNoTask)
      return Effect::Abstain(
          "the call that launched the optimizer's first kernel was not recorded");
    edit.ReplaceWork(step.tasks.front(), DurationNs(static_cast<std::int64_t>(time_of(step))),
                     std::nullopt);
    kept.emplace_back(launch, edit.DurationOf(launch));
    gone.insert(gone.end(), step.tasks.begin() + 1, step.tasks.end());
  }
  ScaleHost(job, in_step, 0, edit);
  RemoveTasks(job, gone, edit);
  const HostCosts& costs = job.calibration().host;
  for (const auto& [launch, duration] : kept) {
    edit.SetDuration(launch, duration);
    edit.AddWorkBefore(launch,
                       Nanoseconds(fused ? costs.fused_optimizer : costs.foreach_optimizer));
  }
  Effect effect;
  effect.gpu_error = knows_bandwidth && knows_bytes ? kOptimizerError : kErrorWithoutShapes;
  effect.memory_delta_bytes = 0;
  effect.memory_change.fused_update = fused;
  effect.memory_change.foreach_update = !fused;
  if (!knows_bandwidth) {
    effect.why =
        "estimated from the recorded kernels only, because " + WhyNoFigure(job, "memory bandwidth");
  } else if (!knows_bytes) {
    effect.why = fmt::format(
        "estimated from the recorded kernels only, because the parameters' shapes were not "
        "recorded ({})",
        RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as()));
  } else {
    effect.why =
        WhatShapesMiss(job, Phase::kOptimizer, algorithm->counted, "updates of parameters");
  }
  if (knows_bandwidth && knows_bytes) effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
