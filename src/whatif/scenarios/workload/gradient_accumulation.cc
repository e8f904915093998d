// gradient-accumulation: a step of n micro-batches of the recorded size, and one update. All but
// the last micro-batch end after their backward, without the all-reduces of gradients (no_sync() of
// PyTorch's DistributedDataParallel). Each but the first adds its gradients to those of the ones
// before: reads both, writes the sum. The step is the sum of n - 1 replays without the update and
// one with it, so that no exchange overlaps with the backward of another micro-batch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "render/number_format.h"
#include "whatif/job/gradients.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/memory/step_memory.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// The recorded times of an addition of gradients differ by less; its bytes are exact.
constexpr double kAccumulationError = 0.03;

TimeNs LaunchTime(const Job& job, TaskIndex task) {
  const HostEventId launch = job.store().gpu_tasks.launch[job.graph().tasks[task].row];
  return launch.valid() ? job.store().host_events.start[launch.index()] : TimeNs(INT64_MIN);
}

/// Returns the host time of each update by thread: from the last launch of the backward, since the
/// gradients are scaled and clipped there, to the end of the optimizer's range.
std::map<ThreadId, IntervalSet> UpdateTimes(const Job& job,
                                            const std::vector<OptimizerStep>& steps) {
  const auto& events = job.store().host_events;
  std::map<ThreadId, std::vector<Interval>> times;
  for (const OptimizerStep& step : steps) {
    const TimeNs begin = events.start[step.range.index()];
    TimeNs after(INT64_MIN);
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (job.graph().tasks[task].kind != TaskKind::kGpu ||
          job.graph().tasks[task].step != job.graph().tasks[step.tasks.front()].step ||
          job.ContextOf(task).phase != Phase::kBackward)
        continue;
      if (const TimeNs launch = LaunchTime(job, task); launch < begin)
        after = std::max(after, launch + DurationNs(1));
    }
    times[events.thread[step.range.index()]].push_back(
        {after == TimeNs(INT64_MIN) ? begin : after, job.store().HostEnd(step.range)});
  }
  std::map<ThreadId, IntervalSet> sets;
  for (auto& [thread, intervals] : times) sets[thread] = IntervalSet::UnionOf(std::move(intervals));
  return sets;
}

bool IsWithin(const std::map<ThreadId, IntervalSet>& times, const Job& job, HostEventId event) {
  if (!event.valid()) return false;
  const auto of_thread = times.find(job.store().host_events.thread[event.index()]);
  const TimeNs start = job.store().host_events.start[event.index()];
  return of_thread != times.end() &&
         of_thread->second.MeasureWithin({start, start + DurationNs(1)}) > DurationNs(0);
}

/// Returns the all-reduces of gradients; none if the forward has collectives as well, because those
/// of the backward may then belong to layers that are split among GPUs.
std::vector<TaskIndex> GradientExchanges(const Job& job) {
  std::vector<TaskIndex> exchanges;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu || !job.IsCollective(GpuTaskId(recorded.row))) continue;
    if (job.ContextOf(task).phase == Phase::kForward) return {};
    if (job.NameOf(task).find("AllReduce") != std::string_view::npos) exchanges.push_back(task);
  }
  return exchanges;
}

void RemoveUpdate(const Job& job, const std::vector<OptimizerStep>& steps, Edit& edit) {
  const std::map<ThreadId, IntervalSet> times = UpdateTimes(job, steps);
  std::vector<TaskIndex> gone = SelectTasks(job, [&](TaskIndex task) {
    return IsWithin(times, job, job.store().gpu_tasks.launch[job.graph().tasks[task].row]);
  });
  for (const auto& [thread, time] : times) ScaleHostTime(job, thread, time, 0, edit);
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind == TaskKind::kReturn && IsWithin(times, job, HostEventId(recorded.row)))
      edit.RemoveWait(task);
  }
  const std::vector<TaskIndex> exchanges = GradientExchanges(job);
  gone.insert(gone.end(), exchanges.begin(), exchanges.end());
  RemoveTasks(job, gone, edit);
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (std::find(gone.begin(), gone.end(), kernel.before_task) == gone.end()) continue;
    kernel.duration = kernel.host_work = kernel.launch = DurationNs(0);
    kernel.waiting_call = kNoTask;
  }
  for (Edit::ChannelTask& transfer : edit.channel_tasks()) transfer.Scale(0);
}

/// Adds the additions to gradients. REQUIRES: the GPU's bandwidth is known.
void AddGradients(const Job& job, const std::vector<GradientStep>& steps, Edit& edit) {
  for (const GradientStep& step : steps) {
    for (const Gradient& gradient : step.gradients) {
      const TaskIndex next = NextOnStream(job, gradient.ready);
      if (next == kNoTask || job.LaunchOf(next) == kNoTask) continue;
      constexpr double kAccesses = 3;
      edit.Insert(
          KernelBefore(job, next, MemoryPassTime(kAccesses * gradient.bytes, *job.device())));
    }
  }
}

/// Returns the change of the peak: a later micro-batch finds all gradients alive. nullopt if
/// unknown.
std::optional<std::int64_t> KeptGradients(const Job& job,
                                          const std::vector<GradientStep>& gradients) {
  const Result<StepMemoryModel> model = StepMemoryModel::Make(job, {});
  if (gradients.empty() || !model.ok()) return std::nullopt;
  const double kept = gradients.front().Bytes() - model.value().PeakAt(1).parts.gradients;
  return std::llround(std::max(0.0, kept));
}

/// Returns true if a recorded step adds its gradients to existing ones, as without set_to_none.
bool AddsAlready(const Job& job) {
  return HasAny(job, [&](const LaunchingOperator& op) {
    for (HostEventId around = op.op; around.valid();
         around = job.store().host_events.parent[around.index()]) {
      if (NameOfOperator(job, around).find("AccumulateGrad") != std::string_view::npos)
        return NameOfOperator(job, op.op) == "aten::add_";
    }
    return false;
  });
}

}  // namespace

Effect ApplyGradientAccumulation(const Job& job, const Arguments& arguments, Edit& /*edit*/) {
  if (!HasBackward(job)) {
    return Effect::Abstain(
        WhyNotFound(job, "the recorded steps have no backward: the job does not train"));
  }
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (steps.empty()) {
    return Effect::Abstain(
        "no optimizer step was recorded (expected a range \"Optimizer.step#...\")");
  }
  if (static_cast<double>(steps.size()) < static_cast<double>(job.graph().steps)) {
    return Effect::Abstain(
        fmt::format("the job already accumulates gradients: {} in {}",
                    Plural(static_cast<std::int64_t>(steps.size()), "update"),
                    Plural(static_cast<std::int64_t>(job.graph().steps), "recorded step")));
  }
  const double batches = arguments.Number("n");
  Effect effect = {.memory_delta_bytes = 0};
  if (batches == 1) {
    effect.why = "one micro-batch per update, as recorded";
    return effect;
  }
  std::vector<GradientStep> gradients;
  if (!AddsAlready(job)) {
    if (job.device() != nullptr && job.device()->memory_bandwidth_gbs)
      gradients = FindGradients(job);
    if (gradients.empty())
      effect.why = "excludes the additions to gradients, whose sizes are unknown";
    effect.memory_delta_bytes = KeptGradients(job, gradients);
  }
  effect.AlsoBecause(
      fmt::format("{} micro-batches of the recorded size per update", arguments.Text("n")));
  if (!GradientExchanges(job).empty())
    effect.AlsoBecause("gradients are exchanged once per update (no_sync)");
  effect.gpu_error = kAccumulationError;
  effect.work = batches;
  effect.micro_batches = batches;
  effect.without_update = [&job, steps, gradients](Edit& other) {
    RemoveUpdate(job, steps, other);
    AddGradients(job, gradients, other);
  };
  return effect;
}

}  // namespace headroom
