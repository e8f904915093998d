#include "analysis/steps/pauses.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analysis/steps/step_search.h"
#include "base/statistics.h"
#include "store/slice.h"

namespace headroom {
namespace {

/// Returns true if GPU work or events of the process that start in the gap cover more than a small
/// share of it. Ignores occasional work.
bool IsRecorded(const TraceStore& store, NameFacts& names, ProcessId process, const GpuWork& work,
                Interval gap) {
  constexpr double kMaxSilentShare = 0.05;
  const auto covers = [&](DurationNs time) {
    return static_cast<double>(time.ns()) >
           kMaxSilentShare * static_cast<double>(gap.length().ns());
  };
  if (covers(work.kernels)) return true;
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
    if (covers(covered.Measure())) return true;
  }
  return false;
}

/// Returns, by thread, true if it launches GPU work of the steps.
std::vector<bool> FindLaunchingThreads(const TraceStore& store, const StepAnalysis& steps) {
  std::vector<bool> launches(store.threads.rows());
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    const HostEventId launch = store.gpu_tasks.launch[i];
    if (launch.valid() && steps.step_of_task[i] != StepAnalysis::kNoStep)
      launches[store.host_events.thread[launch.index()].index()] = true;
  }
  return launches;
}

/// Times between steps that the host's ranges explain.
class NamedTimes {
 public:
  NamedTimes(const TraceStore& store, NameFacts& names, const StepAnalysis& steps) {
    const auto& events = store.host_events;
    const std::vector<bool> launches = FindLaunchingThreads(store, steps);
    std::vector<Interval> training;
    std::vector<std::pair<StringId, Interval>> unknown;
    std::set<StringId> in_steps;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      if (events.kind[row] == HostEventKind::kGpuAnnotation) continue;
      const std::size_t thread = events.thread[row].index();
      if (steps.process.valid() && store.threads.process[thread] != steps.process) continue;
      const HostRoles roles = names.Roles(events.name[row]);
      const Interval time = {events.start[row], store.HostEnd(HostEventId(row))};
      if (roles.Has(HostRole::kOptimizerStep) || roles.Has(HostRole::kBackward) ||
          roles.Has(HostRole::kBackwardOperator))
        training.push_back(time);
      // Another thread may evaluate while the loop fetches a batch.
      if (!launches[thread]) continue;
      if (roles.Has(HostRole::kEvaluation)) evaluation_.push_back(time);
      if (events.kind[row] != HostEventKind::kAnnotation || roles != HostRoles()) continue;
      // Steps also contain ranges, for parts of the model.
      const auto next = std::ranges::upper_bound(steps.hosts, time.start, {}, &Interval::start);
      if (next != steps.hosts.begin() && time.start < (next - 1)->end) {
        in_steps.insert(events.name[row]);
      } else {
        unknown.emplace_back(events.name[row], time);
      }
    }
    for (const auto& [name, time] : unknown) {
      if (!in_steps.contains(name)) other_.push_back(time);
    }
    training_ = IntervalSet::UnionOf(std::move(training));
    std::ranges::sort(evaluation_, {}, &Interval::start);
    std::ranges::sort(other_, {}, &Interval::start);
  }

  DurationNs Training(Interval gap) const { return training_.MeasureWithin(gap); }
  /// Returns the time of evaluation ranges that begin in the gap. A range around several steps does
  /// not describe the gap.
  DurationNs Evaluation(Interval gap) const { return BegunIn(gap, evaluation_); }
  /// Returns the time of the program's other ranges that begin in the gap: their names match no
  /// rule and occur in no step.
  DurationNs Other(Interval gap) const { return BegunIn(gap, other_); }

 private:
  static DurationNs BegunIn(Interval gap, const std::vector<Interval>& ranges) {
    auto range = std::ranges::lower_bound(ranges, gap.start, {}, &Interval::start);
    IntervalSet covered;
    for (; range != ranges.end() && range->start < gap.end; ++range)
      covered.AppendInOrder({range->start, std::min(range->end, gap.end)});
    return covered.Measure();
  }

  std::vector<Interval> evaluation_, other_;  ///< In order of start.
  IntervalSet training_;
};

/// A typical step.
struct UsualStep {
  DurationNs length;  ///< From its start on the host to the end of its host and GPU work.
  GpuWork work;       ///< Medians; `end` is not set.
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

/// Returns true if the work between steps copies batches at least half as large as those of steps.
/// Rollouts of reinforcement learning copy single observations, and updates copy nothing.
bool CopiesLikeSteps(const GpuWork& between, const GpuWork& of_step) {
  constexpr double kMinShare = 0.5;
  return of_step.largest_copy >= 0 && static_cast<double>(between.largest_copy) >=
                                          kMinShare * static_cast<double>(of_step.largest_copy);
}

bool IsProduct(WorkFamily family) {
  return family == WorkFamily::kMatmul || family == WorkFamily::kConvolution ||
         family == WorkFamily::kAttention;
}

/// Returns, by row of steps.list, true if the work before the step looks like a forward pass. Its
/// kernels are mostly kernels of the steps and update nothing. They include products if the steps
/// do.
std::vector<bool> FindForwardWork(const TraceStore& store, NameFacts& names,
                                  const LaunchedWork& work, const StepAnalysis& steps) {
  constexpr double kMostly = 0.7;
  const auto& tasks = store.gpu_tasks;
  std::vector<bool> in_steps(store.strings.size());  // By name.
  bool steps_have_products = false;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.kind[i] != GpuTaskKind::kKernel || steps.step_of_task[i] == StepAnalysis::kNoStep)
      continue;
    in_steps[tasks.name[i].index()] = true;
    steps_have_products = steps_have_products || IsProduct(names.Kernel(tasks.name[i]).family);
  }
  struct Before {
    DurationNs like_steps;
    bool has_product = false, updates = false;
  };
  std::vector<Before> before(work.before_step.size());
  for (const LaunchedWork::TaskBetween& between : work.between) {
    const std::size_t task = between.task.index();
    if (tasks.kind[task] != GpuTaskKind::kKernel) continue;
    Before& of_step = before[between.before_step];
    if (in_steps[tasks.name[task].index()]) of_step.like_steps += tasks.duration[task];
    const WorkFamily family = names.Kernel(tasks.name[task]).family;
    of_step.has_product = of_step.has_product || IsProduct(family);
    of_step.updates = of_step.updates || family == WorkFamily::kOptimizer;
  }
  std::vector<bool> forward;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto all = static_cast<double>(work.before_step[i].kernels.ns());
    forward.push_back(static_cast<double>(before[i].like_steps.ns()) >= kMostly * all &&
                      !before[i].updates && (before[i].has_product || !steps_have_products));
  }
  return forward;
}

/// Returns true if the flag is set for most steps, not counting the first.
bool IsBeforeMost(const std::vector<bool>& after) {
  return std::count(after.begin(), after.end(), true) * 2 > std::ssize(after) - 1;
}

/// Returns, by row of steps.list, true if an evaluation runs before the step; see FindPauses().
std::vector<bool> FindStepsAfterEvaluation(const TraceStore& store, NameFacts& names,
                                           const LaunchedWork& work, const UsualStep& usual,
                                           const StepAnalysis& steps) {
  constexpr std::int64_t kMinPart = 10;  // At least 1/10 of a step.
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
      named.emplace(store, names, steps);
      forward = FindForwardWork(store, names, work, steps);
    }
    const auto is_half = [&](DurationNs time) { return time.ns() * 2 >= gap.length().ns(); };
    after[i] = is_half(named->Evaluation(gap)) ||
               (has_kernels && forward[i] && named->Training(gap).ns() == 0 &&
                !is_half(named->Other(gap)) && CopiesLikeSteps(work.before_step[i], usual.work));
  }
  if (IsBeforeMost(after)) after.assign(after.size(), false);
  return after;
}

/// Returns true if the steps' numbers have no holes. Numbers increase even while a profiler is off.
bool CountOn(const std::vector<StepRow>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].index != rows[i - 1].index + 1) return false;
  }
  return true;
}

/// Returns, by row of steps.list, true if almost nothing is recorded between the previous step and
/// this one.
std::vector<bool> FindSilence(const TraceStore& store, NameFacts& names, const LaunchedWork& work,
                              const UsualStep& usual, const StepAnalysis& steps) {
  constexpr std::int64_t kMinSteps = 3;
  std::vector<bool> after(steps.hosts.size());
  for (std::size_t i = 1; i < after.size(); ++i) {
    const Interval gap = {steps.hosts[i - 1].end, steps.hosts[i].start};
    after[i] = gap.length().ns() / kMinSteps > usual.length.ns() &&
               !IsRecorded(store, names, steps.process, work.before_step[i], gap);
  }
  // A gap before nearly every step is typical of the job.
  if (IsBeforeMost(after) && CountOn(steps.steps.list)) after.assign(after.size(), false);
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
  if (steps.hosts.size() < 2) return;
  const UsualStep usual = FindUsualStep(work, steps);
  const std::vector<bool> after_evaluation =
      FindStepsAfterEvaluation(store, names, work, usual, steps);
  const std::vector<bool> after_silence = FindSilence(store, names, work, usual, steps);
  for (std::size_t i = 1; i < steps.hosts.size(); ++i) {
    const Interval gap = {steps.hosts[i - 1].end, steps.hosts[i].start};
    StepRow& row = steps.steps.list[i];
    row.after_pause = after_evaluation[i] || after_silence[i];
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
