#include "analysis/steps/pauses.h"

#include <algorithm>
#include <utility>

#include "analysis/step_search.h"
#include "base/statistics.h"
#include "store/slice.h"

namespace headroom {
namespace {

/// Returns whether events of the process that start in the gap cover more than a small part of it.
/// Ignores occasional work.
bool IsRecorded(const TraceStore& store, NameFacts& names, ProcessId process, Interval gap) {
  constexpr std::int64_t kHardlyAny = 20;  // One part in.
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
    if (covered.Measure().ns() > gap.length().ns() / kHardlyAny) return true;
  }
  return false;
}

/// Returns whether ranges of evaluation cover at least half of the gap on one thread.
bool IsNamedEvaluation(const TraceStore& store, NameFacts& names, ProcessId process, Interval gap) {
  const auto& events = store.host_events;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (process.valid() && store.threads.process[t] != process) continue;
    const TraceStore::RowRange range = HostEventsWithin(store, ThreadId(t), gap);
    IntervalSet covered;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if (events.kind[row] != HostEventKind::kGpuAnnotation &&
          names.Roles(events.name[row]).Has(HostRole::kEvaluation))
        covered.AppendInOrder(
            {events.start[row], std::min(store.HostEnd(HostEventId(row)), gap.end)});
    }
    if (covered.Measure().ns() * 2 >= gap.length().ns()) return true;
  }
  return false;
}

/// What a usual step does.
struct UsualStep {
  DurationNs length;       ///< From its begin on the host to the end of its GPU work.
  DurationNs gpu_time;     ///< Sum of its tasks.
  std::int64_t copy = -1;  ///< See Work::largest_copy.
};

UsualStep FindUsualStep(const LaunchedWork& work, const StepAnalysis& steps) {
  std::vector<DurationNs> lengths, times;
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < steps.hosts.size(); ++i) {
    const Work& of_step = work.of_step[i];
    // A host that runs ahead finishes a step long before the GPU.
    lengths.push_back(std::max(steps.hosts[i].end, of_step.end) - steps.hosts[i].start);
    times.push_back(of_step.time);
    copies.push_back(of_step.largest_copy);
  }
  return {UpperMedian(std::move(lengths)), UpperMedian(std::move(times)),
          UpperMedian(std::move(copies))};
}

/// By row of steps.list, whether an evaluation runs before the step. One without a name copies as
/// much to the device at a time as steps do, or nothing: a rollout of reinforcement learning copies
/// single observations.
std::vector<bool> FindStepsAfterEvaluation(const TraceStore& store, NameFacts& names,
                                           const LaunchedWork& work, const UsualStep& usual,
                                           const StepAnalysis& steps) {
  constexpr std::int64_t kSmallPart = 10, kSmaller = 2;
  std::vector<bool> after(steps.hosts.size());
  for (std::size_t i = 1; i < after.size(); ++i) {
    const Work& between = work.before_step[i];
    const Interval gap = {steps.hosts[i - 1].end, steps.hosts[i].start};
    const bool is_long = usual.gpu_time.ns() > 0
                             ? between.time.ns() > usual.gpu_time.ns() / kSmallPart
                             : gap.length().ns() > usual.length.ns() / kSmallPart;
    if (!is_long) continue;
    const bool copies_like_steps =
        usual.copy >= 0 &&
        (between.largest_copy < 0 || between.largest_copy >= usual.copy / kSmaller);
    after[i] = (between.time.ns() > 0 && copies_like_steps) ||
               IsNamedEvaluation(store, names, steps.process, gap);
  }
  if (std::count(after.begin(), after.end(), true) * 2 >= std::ssize(after))
    after.assign(after.size(), false);
  return after;
}

}  // namespace

void Work::Add(const TraceStore& store, GpuTaskId task) {
  end = std::max(end, store.TaskEnd(task));
  time += store.gpu_tasks.duration[task.index()];
  if (store.gpu_tasks.copy[task.index()] == CopyKind::kHostToDevice)
    largest_copy = std::max({largest_copy, store.gpu_tasks.bytes[task.index()], INT64_C(0)});
}

void FindPauses(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                StepAnalysis& steps) {
  constexpr std::int64_t kUsualSteps = 3;
  if (steps.hosts.size() < 2) return;
  const UsualStep usual = FindUsualStep(work, steps);
  const std::vector<bool> after_evaluation =
      FindStepsAfterEvaluation(store, names, work, usual, steps);
  for (std::size_t i = 1; i < steps.hosts.size(); ++i) {
    const Interval gap = {steps.hosts[i - 1].end, steps.hosts[i].start};
    StepRow& row = steps.steps.list[i];
    row.after_pause = after_evaluation[i] || (gap.length().ns() / kUsualSteps > usual.length.ns() &&
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
