#include "whatif/scenarios/parameters/optimizer_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/verdict/remedies.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Returns true if no kernel belongs to the step: it only copies gradients to the host and
/// parameters back.
bool RunsOnCpu(const Job& job, const OptimizerStep& step) {
  return std::none_of(step.tasks.begin(), step.tasks.end(), [&](TaskIndex task) {
    return job.store().gpu_tasks.kind[job.graph().tasks[task].row] == GpuTaskKind::kKernel;
  });
}

}  // namespace

std::string WhyNoUpdate(const Job& job, const std::vector<OptimizerStep>& steps) {
  if (steps.empty())
    return "no optimizer step was recorded (expected a range \"Optimizer.step#...\")";
  if (RunsOnCpu(job, steps.front())) return "the optimizer runs on the CPU: its step has no kernel";
  return {};
}

bool UpdatesBy(const Job& job, const OptimizerStep& step, std::string_view part) {
  return std::any_of(step.tasks.begin(), step.tasks.end(), [&](TaskIndex task) {
    const HostEventId op = job.ContextOf(task).op;
    return op.valid() && job.store().Text(job.store().host_events.name[op.index()]).find(part) !=
                             std::string_view::npos;
  });
}

bool KnowsBandwidth(const Job& job) {
  return job.device() != nullptr && job.device()->memory_bandwidth_gbs;
}

double UpdateNs(const Job& job, double bytes) {
  return bytes / (*job.device()->memory_bandwidth_gbs * job.calibration().kernels.update_bytes);
}

double RecordedUpdateNs(const Job& job, const OptimizerStep& step) {
  double ns = 0;
  for (const TaskIndex task : step.tasks) ns += static_cast<double>(job.corrected().duration[task]);
  return ns;
}

std::string WhyOnlyRecordedUpdate(const Job& job) {
  if (!KnowsBandwidth(job)) {
    return "estimated from the recorded kernels only, because " +
           WhyNoFigure(job, "memory bandwidth");
  }
  return fmt::format(
      "estimated from the recorded kernels only, because the parameters' shapes were not "
      "recorded ({})",
      RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as()));
}

bool UpdateInOneKernel(const Job& job, const std::vector<OptimizerStep>& steps,
                       const std::vector<double>& kernel_ns, double host_ns, Edit& edit) {
  std::vector<bool> in_step = SelectHost(job, [&](HostEventId event) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const OptimizerStep& step) { return step.range == event; });
  });
  std::vector<std::pair<TaskIndex, DurationNs>> kept;  // Launches, with their durations.
  std::vector<TaskIndex> gone;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const OptimizerStep& step = steps[i];
    const TaskIndex launch = job.LaunchOf(step.tasks.front());
    if (launch == kNoTask) return false;
    edit.ReplaceWork(step.tasks.front(), DurationNs(static_cast<std::int64_t>(kernel_ns[i])),
                     std::nullopt);
    kept.emplace_back(launch, edit.DurationOf(launch));
    gone.insert(gone.end(), step.tasks.begin() + 1, step.tasks.end());
  }
  ScaleHost(job, in_step, 0, edit);
  RemoveTasks(job, gone, edit);
  for (const auto& [launch, duration] : kept) {
    edit.SetDuration(launch, duration);
    edit.AddWorkBefore(launch, Nanoseconds(host_ns));
  }
  return true;
}

}  // namespace headroom
