#include "analysis/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/gpu_time.h"
#include "analysis/graph_capture.h"
#include "analysis/profiler_cost.h"
#include "analysis/step_search.h"
#include "base/statistics.h"
#include "store/natural_sort.h"

namespace headroom {
namespace {

/// Measures the launch queue (launches whose first task has not started) at each launch; a graph of
/// many kernels is one. Returns when the host paces the GPU: the times before launches that find
/// next to nothing waiting.
IntervalSet MeasureQueue(const TraceStore& store, StepAnalysis& out) {
  constexpr std::int64_t kNextToNothing = 3;
  const auto& tasks = store.gpu_tasks;
  std::vector<std::pair<TimeNs, std::int32_t>> launches;
  std::vector<TimeNs> starts;
  std::vector<bool> seen(store.host_events.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!tasks.launch[i].valid() || !IsWorkOf(store, out.process, GpuTaskId(i))) continue;
    if (seen[tasks.launch[i].index()]) continue;
    seen[tasks.launch[i].index()] = true;
    launches.emplace_back(store.host_events.start[tasks.launch[i].index()], out.step_of_task[i]);
    starts.push_back(tasks.start[i]);  // Already in order.
  }
  NaturalStableSort(launches, [](const auto& a, const auto& b) { return a.first < b.first; });
  IntervalSet paced;
  std::vector<std::int64_t> sums(out.steps.list.size()), counts(out.steps.list.size());
  std::size_t started = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    while (started < starts.size() && starts[started] <= launches[i].first) ++started;
    const std::int64_t waiting = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(started);
    if (i > 0 && waiting <= kNextToNothing)
      paced.AppendInOrder({launches[i - 1].first, launches[i].first});
    const std::int32_t step = launches[i].second;
    if (step == StepAnalysis::kNoStep) continue;
    const auto row = static_cast<std::size_t>(step);
    const std::int64_t depth = std::max<std::int64_t>(0, waiting + 1);
    sums[row] += depth;
    ++counts[row];
    out.steps.list[row].queue_depth_max = std::max(out.steps.list[row].queue_depth_max, depth);
  }
  for (std::size_t row = 0; row < sums.size(); ++row) {
    if (counts[row] > 0) {
      out.steps.list[row].queue_depth_mean =
          static_cast<double>(sums[row]) / static_cast<double>(counts[row]);
    }
  }
  return paced;
}

/// Tasks at the start of each stream that have no launch while a later one has: the queue that
/// earlier work left.
std::vector<bool> FindWorkBeforeRecording(const TraceStore& store) {
  std::vector<bool> before(store.gpu_tasks.rows());
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    const auto joined = std::find_if(of_stream.begin(), of_stream.end(), [&](GpuTaskId task) {
      return store.gpu_tasks.launch[task.index()].valid();
    });
    if (joined == of_stream.end()) continue;
    for (auto it = of_stream.begin(); it != joined; ++it) before[it->index()] = true;
  }
  return before;
}

/// Splits the GPU's idle time by when the task that ends it was launched.
void FindIdle(const TraceStore& store, StepAnalysis& out) {
  const auto& tasks = store.gpu_tasks;
  TimeNs busy_until(INT64_MIN / 2);  // The GPU was idle before the first task.
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!IsWorkOf(store, out.process, GpuTaskId(i))) continue;
    const HostEventId launch = tasks.launch[i];
    if (launch.valid()) {
      const bool late = store.host_events.start[launch.index()] > busy_until;
      (late ? out.late : out.queued)
          .AppendInOrder({busy_until, std::max(busy_until, tasks.start[i])});
    }
    busy_until = std::max(busy_until, store.TaskEnd(GpuTaskId(i)));
  }
}

/// Whether the process launches any task. One that only annotates says when steps are, not whose
/// work counts.
bool LaunchesWork(const TraceStore& store, ProcessId process) {
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.gpu_tasks.launch[i].valid() && IsWorkOf(store, process, GpuTaskId(i))) return true;
  }
  return false;
}

/// Row of the step whose host time holds `when`, or -1.
std::int32_t StepAt(const std::vector<Interval>& hosts, TimeNs when) {
  const auto next = std::upper_bound(hosts.begin(), hosts.end(), when,
                                     [](TimeNs t, const Interval& host) { return t < host.start; });
  if (next == hosts.begin() || when >= (next - 1)->end) return StepAnalysis::kNoStep;
  return static_cast<std::int32_t>(next - hosts.begin()) - 1;
}

/// What the host did in each step: prices its recording while it paced the GPU, and finds steps
/// whose GPU work was lost.
void MeasureHost(const TraceStore& store, NameFacts& names, const IntervalSet& paced,
                 StepAnalysis& out) {
  const auto& events = store.host_events;
  const IntervalSet captures = FindGraphCaptures(store, names);
  std::vector<StepRow>& rows = out.steps.list;
  if (rows.empty()) return;
  struct Counts {
    std::int64_t operators = 0, calls = 0;              ///< All of the step.
    std::int64_t paced_operators = 0, paced_calls = 0;  ///< While the GPU followed the host.
    std::int64_t launches = 0;
  };
  std::vector<Counts> counts(rows.size());
  const std::vector<Interval>& pacing = paced.intervals();
  // The first of `intervals` that ends after a time.
  const auto first_after = [](const std::vector<Interval>& intervals, TimeNs when) {
    return std::partition_point(intervals.begin(), intervals.end(),
                                [&](const Interval& interval) { return interval.end <= when; });
  };
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (out.process.valid() && store.threads.process[t] != out.process) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    if (range.first == range.last) continue;
    auto step = first_after(out.hosts, events.start[range.first]);
    auto pace = first_after(pacing, events.start[range.first]);
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostEventKind kind = events.kind[row];
      const bool is_call =
          kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
      if (!is_call && kind != HostEventKind::kOperator && kind != HostEventKind::kAnnotation)
        continue;
      const TimeNs start = events.start[row];
      while (step != out.hosts.end() && step->end <= start) ++step;
      while (pace != pacing.end() && pace->end <= start) ++pace;
      if (step == out.hosts.end()) break;
      if (start < step->start) continue;
      Counts& of_step = counts[static_cast<std::size_t>(step - out.hosts.begin())];
      const HostRoles roles = is_call ? names.Roles(events.name[row]) : HostRoles();
      const bool launches = (roles.Has(HostRole::kKernelLaunch) && !Contains(captures, start)) ||
                            roles.Has(HostRole::kGraphLaunch);
      if (launches) ++of_step.launches;
      ++(is_call ? of_step.calls : of_step.operators);
      if (pace != pacing.end() && start >= pace->start)
        ++(is_call ? of_step.paced_calls : of_step.paced_operators);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].profiler_cost = RoughProfilerCost(counts[i].paced_operators, counts[i].paced_calls);
    out.recording.push_back(RoughProfilerCost(counts[i].operators, counts[i].calls));
    rows[i].lost_tasks = rows[i].tasks == 0 && counts[i].launches > 0 && store.gpu_tasks.rows() > 0;
  }
}

/// Keeps the steps that the options name.
Status SelectSteps(const AnalysisOptions& options, StepAnalysis& out) {
  if (!options.first_step && !options.last_step) return Status::Ok();
  const std::vector<StepRow> all = std::exchange(out.steps.list, {});
  const std::vector<Interval> spans = std::exchange(out.spans, {});
  const std::vector<Interval> hosts = std::exchange(out.hosts, {});
  const std::vector<DurationNs> recording = std::exchange(out.recording, {});
  std::vector<std::int32_t> renumbered(all.size(), StepAnalysis::kNoStep);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t index = all[i].index;
    if (index < options.first_step.value_or(INT64_MIN) ||
        index > options.last_step.value_or(INT64_MAX))
      continue;
    renumbered[i] = static_cast<std::int32_t>(out.steps.list.size());
    out.steps.list.push_back(all[i]);
    out.spans.push_back(spans[i]);
    out.hosts.push_back(hosts[i]);
    out.recording.push_back(recording[i]);
  }
  if (all.empty())
    return Status::Usage(
        "--steps: the trace has no steps; name what begins one with --step-marker");
  if (out.steps.list.empty()) {
    return Status::Usage(fmt::format("--steps: no such step; the trace has steps {} to {}",
                                     all.front().index, all.back().index));
  }
  for (std::int32_t& step : out.step_of_task) {
    if (step != StepAnalysis::kNoStep) step = renumbered[static_cast<std::size_t>(step)];
  }
  return Status::Ok();
}

/// When the GPU is done with the work launched in and before the steps; INT64_MIN: there was none.
struct WorkEnds {
  TimeNs before_first{INT64_MIN};
  std::vector<TimeNs> of_step;
};

/// Gives every task to the step in which it was launched.
WorkEnds AssignTasks(const TraceStore& store, StepAnalysis& out) {
  const auto& tasks = store.gpu_tasks;
  const bool any_launch = std::any_of(tasks.launch.values().begin(), tasks.launch.values().end(),
                                      [](HostEventId launch) { return launch.valid(); });
  WorkEnds ends;
  ends.of_step.assign(out.hosts.size(), TimeNs(INT64_MIN));
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (out.hosts.empty() || !IsWorkOf(store, out.process, GpuTaskId(i))) continue;
    if (any_launch && !launch.valid() && !out.before_recording[i]) continue;
    const bool before_recording = any_launch && !launch.valid();
    const TimeNs when = launch.valid() ? store.host_events.start[launch.index()] : tasks.start[i];
    if (before_recording || when < out.hosts.front().start) {
      ++out.steps.tasks_before_first;
      ends.before_first = std::max(ends.before_first, store.TaskEnd(GpuTaskId(i)));
      continue;
    }
    const std::int32_t step = StepAt(out.hosts, when);
    if (step == StepAnalysis::kNoStep) {
      ++out.steps.tasks_outside;
      continue;
    }
    out.step_of_task[i] = step;
    const auto row = static_cast<std::size_t>(step);
    ++out.steps.list[row].tasks;
    ends.of_step[row] = std::max(ends.of_step[row], store.TaskEnd(GpuTaskId(i)));
  }
  return ends;
}

/// A step ends where its GPU work ends, and begins where that of the steps before it ended; the
/// first does not pay for the queue that warm-up left. After steps without GPU work there may be
/// nothing to wait for.
void TimeSteps(const WorkEnds& ends, bool has_gpu, StepAnalysis& out) {
  TimeNs previous_end = ends.before_first;
  bool follows_work = false;
  for (std::size_t i = 0; i < out.hosts.size(); ++i) {
    Interval span = out.hosts[i];
    const TimeNs gpu_end = ends.of_step[i];
    const bool has_work = gpu_end.ns() != INT64_MIN;
    if (has_work) {
      span.start = follows_work
                       ? previous_end
                       : std::clamp(previous_end, span.start, std::max(span.start, gpu_end));
      span.end = std::max(gpu_end, span.start);
      previous_end = span.end;
    }
    follows_work = has_work;
    StepRow& row = out.steps.list[i];
    row.start = span.start;
    row.wall = span.length();
    row.host_wait = out.late.MeasureWithin(span);
    if (has_gpu) row.gpu_busy = out.busy.MeasureWithin(span);
    out.spans.push_back(span);
  }
}

}  // namespace

Result<StepAnalysis> AnalyzeSteps(const TraceStore& store, NameFacts& names,
                                  const AnalysisOptions& options) {
  Result<FoundSteps> searched = FindSteps(store, names, options);
  if (!searched.ok()) return searched.status();
  const FoundSteps& found = searched.value();

  StepAnalysis out;
  if (LaunchesWork(store, found.process)) out.process = found.process;
  out.busy = FindBusyTime(store, out.process);
  FindIdle(store, out);
  out.steps.source = found.source;
  out.steps.confidence = found.confidence;
  out.steps.marker = found.marker;
  for (const HostStep& step : found.steps) {
    StepRow row;
    row.index = step.index;
    if (found.source == StepSource::kAnnotation) row.host = step.host.length();
    out.steps.list.push_back(row);
    out.hosts.push_back(step.host);
  }
  out.step_of_task.assign(store.gpu_tasks.rows(), StepAnalysis::kNoStep);
  out.before_recording = FindWorkBeforeRecording(store);

  TimeSteps(AssignTasks(store, out), store.gpu_tasks.rows() > 0, out);
  MeasureHost(store, names, MeasureQueue(store, out), out);
  if (Status selected = SelectSteps(options, out); !selected.ok()) return selected;
  static_cast<WallSummary&>(out.steps) = SummarizeWalls(out.steps.list);
  return out;
}

WallSummary SummarizeWalls(std::span<const StepRow> rows) {
  std::vector<DurationNs> walls;
  for (const StepRow& row : rows) {
    if (!row.lost_tasks) walls.push_back(row.wall);
  }
  if (walls.empty()) {
    for (const StepRow& row : rows) walls.push_back(row.wall);
  }
  if (walls.empty()) return {};
  std::sort(walls.begin(), walls.end());
  DurationNs sum;
  for (const DurationNs wall : walls) sum += wall;
  const auto count = static_cast<std::int64_t>(walls.size());
  return {.p50 = SortedPercentile(walls, 50),
          .mean = DurationNs((sum.ns() + count / 2) / count),
          .min = walls.front(),
          .max = walls.back()};
}

}  // namespace headroom
