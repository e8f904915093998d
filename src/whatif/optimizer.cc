// fused-optimizer: one kernel a step (kind=fused) or a few over lists of parameters (kind=foreach)
// in place of several for each parameter. The update is bound by memory: its time is the bytes that
// it must move for each parameter, at the sustained bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/remedies.h"
#include "whatif/catalogue.h"
#include "whatif/optimizer_steps.h"
#include "whatif/selection.h"
#include "whatif/why_not_found.h"

namespace headroom {
namespace {

constexpr double kOptimizerError = 0.1;

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
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (steps.empty())
    return Effect::Abstain("no optimizer step was recorded (a range \"Optimizer.step#...\")");
  if (Uses(job, steps.front(), "_fused_")) return Effect::Abstain("the optimizer is fused already");
  if (Uses(job, steps.front(), "_foreach_")) {
    return Effect::Abstain(fused
                               ? "the optimizer works on lists already, and lists record no shapes"
                               : "the optimizer works on lists already (foreach)");
  }
  const UpdateAlgorithm* algorithm = AlgorithmOf(job, steps.front());
  if (algorithm == nullptr)
    return Effect::Abstain("only Adam, AdamW and SGD with momentum are known");
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));

  std::vector<bool> in_step = SelectHost(job, [&](HostEventId event) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const OptimizerStep& step) { return step.range == event; });
  });
  std::vector<std::pair<TaskIndex, DurationNs>> kept;  // Launches, with their durations.
  std::vector<TaskIndex> gone;
  for (const OptimizerStep& step : steps) {
    const double bytes = ParameterBytes(job, step);
    const TaskIndex launch = job.LaunchOf(step.tasks.front());
    if (bytes == 0)
      return Effect::Abstain(
          fmt::format("the parameters' shapes were not recorded ({})",
                      RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as())));
    if (launch == kNoTask)
      return Effect::Abstain("the call that launched the optimizer's first kernel is not recorded");
    const double moved = bytes * (fused ? algorithm->fused : algorithm->foreach);
    edit.ReplaceWork(
        step.tasks.front(),
        DurationNs(static_cast<std::int64_t>(moved / (*job.device()->memory_bandwidth_gbs *
                                                      job.calibration().kernels.update_bytes))),
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
  effect.gpu_error = kOptimizerError;
  effect.memory_delta_bytes = 0;
  effect.memory_change.fused_update = fused;
  effect.memory_change.foreach_update = !fused;
  effect.why = WhatShapesMiss(job, Phase::kOptimizer, algorithm->counted, "updates of parameters");
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
