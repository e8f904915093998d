#include "analysis/steps/pauses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/step_search.h"
#include "base/statistics.h"
#include "store/slice.h"

namespace headroom {
namespace {

/// Returns whether events of the process that start in the gap cover more than a small part of it.
/// Ignores occasional work.
bool IsRecorded(const TraceStore& store, NameFacts& names, ProcessId process, Interval gap) {
  constexpr std::int64_t kMinPart = 20;
  const auto& events = store.host_events;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (process.valid() && store.threads.process[t] != process) continue;
    const TraceStore::RowRange range = HostEventsWithin(store, ThreadId(t), gap);
    IntervalSet covered;
    TimeNs occasional_until = gap.start;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const TimeNs end = store.HostEnd(HostEventId(row));
      if (IsOccasional(names.Roles(events.name[row])))
        occasional_until = std::max(occasional_until, end);
      if (events.start[row] < occasional_until || events.kind[row] == HostEventKind::kGpuAnnotation)
        continue;
      covered.AppendInOrder({events.start[row], std::min(end, gap.end)});
    }
    if (covered.Measure().ns() > gap.length().ns() / kMinPart) return true;
  }
  return false;
}

/// What the host's ranges say.
struct NamedTimes {
  IntervalSet evaluation, training;
};

NamedTimes FindNamedTimes(const TraceStore& store, NameFacts& names, ProcessId process) {
  const auto& events = store.host_events;
  std::vector<Interval> evaluation, training;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kGpuAnnotation) continue;
    const HostRoles roles = names.Roles(events.name[row]);
    const bool evaluates = roles.Has(HostRole::kEvaluation);
    const bool trains = roles.Has(HostRole::kOptimizerStep) || roles.Has(HostRole::kBackward) ||
                        roles.Has(HostRole::kBackwardOperator);
    if (!evaluates && !trains) continue;
    if (process.valid() && store.threads.process[events.thread[row].index()] != process) continue;
    (evaluates ? evaluation : training)
        .push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }
  return {IntervalSet::UnionOf(std::move(evaluation)), IntervalSet::UnionOf(std::move(training))};
}

/// What a usual step does.
struct UsualStep {
  DurationNs length;  ///< From its begin on the host to the end of its GPU work.
  GpuWork work;       ///< Medians; without `end`.
};

UsualStep FindUsualStep(const LaunchedWork& work, const StepAnalysis& steps) {
  std::vector<DurationNs> lengths, kernels;
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < steps.hosts.size(); ++i) {
    const GpuWork& of_step = work.of_step[i];
    // A host that runs ahead finishes a step long before the GPU.
    lengths.push_back(std::max(steps.hosts[i].end, of_step.end) - steps.hosts[i].start);
    kernels.push_back(of_step.kernels);
    copies.push_back(of_step.largest_copy);
  }
  UsualStep usual;
  usual.length = UpperMedian(std::move(lengths));
  usual.work.kernels = UpperMedian(std::move(kernels));
  usual.work.largest_copy = UpperMedian(std::move(copies));
  return usual;
}

/// Returns whether the work between steps copies batches as large as those of steps, or nothing.
/// Rollouts of reinforcement learning copy single observations.
bool CopiesLikeSteps(const GpuWork& between, const GpuWork& of_step) {
  constexpr std::int64_t kMinPart = 2;
  if (of_step.largest_copy < 0) return false;
  return between.largest_copy == GpuWork::kNoCopy ||
         between.largest_copy >= of_step.largest_copy / kMinPart;
}

/// By row of steps.list, whether the kernels that run before the step are mostly those of steps,
/// and update nothing.
std::vector<bool> FindForwardWork(const TraceStore& store, NameFacts& names,
                                  const LaunchedWork& work, const StepAnalysis& steps) {
  constexpr double kMostly = 0.7;
  const auto& tasks = store.gpu_tasks;
  std::vector<bool> in_steps(store.strings.size());  // By name.
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.kind[i] == GpuTaskKind::kKernel && steps.step_of_task[i] != StepAnalysis::kNoStep)
      in_steps[tasks.name[i].index()] = true;
  }
  std::vector<DurationNs> like_steps(work.before_step.size());
  std::vector<bool> forward(work.before_step.size(), true);
  for (const LaunchedWork::TaskBetween& between : work.between) {
    const std::size_t task = between.task.index();
    if (tasks.kind[task] != GpuTaskKind::kKernel) continue;
    if (in_steps[tasks.name[task].index()]) like_steps[between.before_step] += tasks.duration[task];
    if (names.Kernel(tasks.name[task]).family == WorkFamily::kOptimizer)
      forward[between.before_step] = false;
  }
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const auto all = static_cast<double>(work.before_step[i].kernels.ns());
    if (static_cast<double>(like_steps[i].ns()) < kMostly * all) forward[i] = false;
  }
  return forward;
}

/// By row of steps.list, whether an evaluation runs before the step; see FindPauses().
std::vector<bool> FindStepsAfterEvaluation(const TraceStore& store, NameFacts& names,
                                           const LaunchedWork& work, const UsualStep& usual,
                                           const StepAnalysis& steps) {
  constexpr std::int64_t kMinPart = 10;
  std::vector<bool> after(steps.hosts.size());
  const auto gap_before = [&](std::size_t row) {
    return Interval{steps.hosts[row - 1].end, steps.hosts[row].start};
  };
  std::optional<NamedTimes> named;
  std::vector<bool> forward;
  for (std::size_t i = 1; i < after.size(); ++i) {
    const Interval gap = gap_before(i);
    if (gap.length().ns() <= 0) continue;
    const bool is_long = gap.length().ns() > usual.length.ns() / kMinPart;
    const bool has_kernels = work.before_step[i].kernels.ns() > usual.work.kernels.ns() / kMinPart;
    if (!is_long && !has_kernels) continue;
    if (!named) {
      named = FindNamedTimes(store, names, steps.process);
      forward = FindForwardWork(store, names, work, steps);
    }
    after[i] = named->evaluation.MeasureWithin(gap).ns() * 2 >= gap.length().ns() ||
               (has_kernels && forward[i] && named->training.MeasureWithin(gap).ns() == 0 &&
                CopiesLikeSteps(work.before_step[i], usual.work));
  }
  if (std::count(after.begin(), after.end(), true) * 2 > std::ssize(after) - 1)
    after.assign(after.size(), false);
  return after;
}

}  // namespace

void GpuWork::Add(const TraceStore& store, GpuTaskId task) {
  const auto& tasks = store.gpu_tasks;
  const std::size_t row = task.index();
  end = std::max(end, store.TaskEnd(task));
  if (tasks.kind[row] == GpuTaskKind::kKernel) kernels += tasks.duration[row];
  if (tasks.copy[row] != CopyKind::kHostToDevice || largest_copy == kUnknownSize) return;
  largest_copy = tasks.bytes[row] < 0 ? kUnknownSize : std::max(largest_copy, tasks.bytes[row]);
}

void FindPauses(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                StepAnalysis& steps) {
  constexpr std::int64_t kMinSteps = 3;
  if (steps.hosts.size() < 2) return;
  const UsualStep usual = FindUsualStep(work, steps);
  const std::vector<bool> after_evaluation =
      FindStepsAfterEvaluation(store, names, work, usual, steps);
  for (std::size_t i = 1; i < steps.hosts.size(); ++i) {
    const Interval gap = {steps.hosts[i - 1].end, steps.hosts[i].start};
    StepRow& row = steps.steps.list[i];
    row.after_pause = after_evaluation[i] || (gap.length().ns() / kMinSteps > usual.length.ns() &&
                                              !IsRecorded(store, names, steps.process, gap));
    if (!row.after_pause && gap.start < gap.end) row.since_previous = gap.length();
  }
}

IntervalSet PausesBetween(const StepAnalysis& steps) {
  IntervalSet times;
  for (std::size_t i = 1; i < steps.hosts.size(); ++i) {
    if (steps.steps.list[i].after_pause)
      times.AppendInOrder({steps.hosts[i - 1].end, steps.hosts[i].start});
  }
  return times;
}

}  // namespace headroom
