#include "analysis/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "analysis/gpu/gpu_time.h"
#include "analysis/gpu/graph_capture.h"
#include "analysis/gpu/lost_records.h"
#include "analysis/names/feeders.h"
#include "analysis/steps/pauses.h"
#include "analysis/steps/profiler_cost.h"
#include "analysis/steps/step_kind.h"
#include "analysis/steps/step_search.h"
#include "analysis/steps/step_time.h"
#include "base/statistics.h"
#include "store/natural_sort.h"

namespace headroom {
namespace {

/// Measures the depth of the launch queue at each launch: the number of launches whose first task
/// has not started. A graph of many kernels is one launch. Returns the times in which the host
/// limits the GPU: those before launches that find an almost empty queue.
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

bool IsCall(HostEventKind kind) {
  return kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
}

/// Returns the lowest correlation id of a recorded call, by the high 32 bits of the id, which
/// identify the process.
std::map<std::int64_t, std::int64_t> FirstCalls(const TraceStore& store) {
  const auto& events = store.host_events;
  std::map<std::int64_t, std::int64_t> first;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const std::int64_t id = events.correlation[row];
    if (!IsCall(events.kind[row]) || id <= 0) continue;
    const auto [it, is_new] = first.try_emplace(id >> 32, id);
    it->second = std::min(it->second, id);
  }
  return first;
}

/// Returns, by task, true for work that was launched before the recording. This holds for tasks
/// without a launch at the start of a stream, if a later task of the stream has a launch. It also
/// holds for tasks whose correlation id is below that of the first call.
std::vector<bool> FindWorkBeforeRecording(const TraceStore& store) {
  const auto& tasks = store.gpu_tasks;
  const std::map<std::int64_t, std::int64_t> first_calls = FirstCalls(store);
  std::vector<bool> before(tasks.rows());
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    const auto joined = std::find_if(of_stream.begin(), of_stream.end(), [&](GpuTaskId task) {
      return tasks.launch[task.index()].valid();
    });
    const bool any_joined = joined != of_stream.end();
    for (auto it = of_stream.begin(); it != joined; ++it) {
      const std::int64_t id = tasks.correlation[it->index()];
      const auto first = first_calls.find(id >> 32);
      before[it->index()] =
          any_joined || (id > 0 && first != first_calls.end() && id < first->second);
    }
  }
  return before;
}

/// GPU idle time before a task whose launch was recorded.
struct Gap {
  Interval idle;
  Interval launch;  ///< The launch call.
};

/// Returns the gaps in order of time.
std::vector<Gap> FindGaps(const TraceStore& store, ProcessId process) {
  const auto& tasks = store.gpu_tasks;
  std::vector<Gap> gaps;
  TimeNs busy_until(INT64_MIN / 2);  // The GPU was idle before the first task.
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!IsWorkOf(store, process, GpuTaskId(i))) continue;
    const HostEventId launch = tasks.launch[i];
    if (launch.valid() && tasks.start[i] > busy_until) {
      gaps.push_back({{busy_until, tasks.start[i]},
                      {store.host_events.start[launch.index()], store.HostEnd(launch)}});
    }
    busy_until = std::max(busy_until, store.TaskEnd(GpuTaskId(i)));
  }
  return gaps;
}

/// Splits the GPU's idle time by the launch time of the task that ends it. A late launch explains
/// idle time up to the typical launch delay. Longer idle time counts as queued.
void FindIdle(const TraceStore& store, StepAnalysis& out) {
  const std::vector<Gap> gaps = FindGaps(store, out.process);
  const auto is_late = [](const Gap& gap) { return gap.launch.start > gap.idle.start; };
  const auto delay = [](const Gap& gap) { return gap.idle.end - gap.launch.start; };
  std::vector<DurationNs> delays;
  for (const Gap& gap : gaps) {
    if (is_late(gap)) delays.push_back(delay(gap));
  }
  const DurationNs usual = UpperMedian(std::move(delays));
  constexpr std::int64_t kMaxFactor = 4;  // Delays also vary with the kind of task.
  constexpr DurationNs kMinDelay(10'000);
  for (const Gap& gap : gaps) {
    if (!is_late(gap)) {
      out.queued.AppendInOrder(gap.idle);
      continue;
    }
    TimeNs until = gap.idle.end;
    if (delay(gap).ns() / kMaxFactor > std::max(usual, kMinDelay).ns())
      until = std::min(std::max(gap.launch.end, gap.launch.start + usual), until);
    out.late.AppendInOrder({gap.idle.start, until});
    out.queued.AppendInOrder({until, gap.idle.end});
  }
}

/// Returns true if any task is joined to its launch.
bool HasLaunches(const TraceStore& store) {
  const std::span<const HostEventId> launches = store.gpu_tasks.launch.values();
  return std::any_of(launches.begin(), launches.end(),
                     [](HostEventId launch) { return launch.valid(); });
}

/// Returns true if the process launches any task. A process that only annotates defines the steps,
/// but not which GPU work counts.
bool LaunchesWork(const TraceStore& store, ProcessId process) {
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.gpu_tasks.launch[i].valid() && IsWorkOf(store, process, GpuTaskId(i))) return true;
  }
  return false;
}

/// Returns the row of the first step that begins after `when`, or the number of steps.
std::size_t FirstAfter(const std::vector<Interval>& hosts, TimeNs when) {
  const auto next = std::upper_bound(hosts.begin(), hosts.end(), when,
                                     [](TimeNs t, const Interval& host) { return t < host.start; });
  return static_cast<std::size_t>(next - hosts.begin());
}

/// Returns the row of the step whose host time contains `when`, or -1.
std::int32_t StepAt(const std::vector<Interval>& hosts, TimeNs when) {
  const std::size_t next = FirstAfter(hosts, when);
  if (next == 0 || when >= hosts[next - 1].end) return StepAnalysis::kNoStep;
  return static_cast<std::int32_t>(next) - 1;
}

/// Counts of host events in a step.
struct HostCounts {
  std::int64_t operators = 0, calls = 0;  ///< All events of the step.
  /// Events recorded while the host limits the GPU.
  std::int64_t paced_operators = 0, paced_calls = 0;
  std::int64_t launches = 0;
  bool has_backward = false, has_optimizer = false;
  DurationNs evaluation;  ///< Time in evaluation ranges that begin in the step.
};

/// Returns the counts by row of steps.list.
///
/// @param loop  the thread of the steps' marks; invalid if unknown
std::vector<HostCounts> CountHost(const TraceStore& store, NameFacts& names, ThreadId loop,
                                  const IntervalSet& paced, const StepAnalysis& steps) {
  const auto& events = store.host_events;
  std::vector<HostCounts> counts(steps.hosts.size());
  if (counts.empty()) return counts;
  const IntervalSet captures = FindGraphCaptures(store, names);
  const std::vector<Interval>& pacing = paced.intervals();
  // Returns the first of `intervals` that ends after a time.
  const auto first_after = [](const std::vector<Interval>& intervals, TimeNs when) {
    return std::partition_point(intervals.begin(), intervals.end(),
                                [&](const Interval& interval) { return interval.end <= when; });
  };
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (steps.process.valid() && store.threads.process[t] != steps.process) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    if (range.first == range.last) continue;
    auto step = first_after(steps.hosts, events.start[range.first]);
    auto pace = first_after(pacing, events.start[range.first]);
    TimeNs evaluation_until(INT64_MIN);
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostEventKind kind = events.kind[row];
      const bool is_call = IsCall(kind), is_frame = kind == HostEventKind::kPythonFrame;
      if (!is_call && !is_frame && kind != HostEventKind::kOperator &&
          kind != HostEventKind::kAnnotation)
        continue;
      const TimeNs start = events.start[row];
      while (step != steps.hosts.end() && step->end <= start) ++step;
      while (pace != pacing.end() && pace->end <= start) ++pace;
      if (step == steps.hosts.end()) break;
      if (start < step->start) continue;
      HostCounts& of_step = counts[static_cast<std::size_t>(step - steps.hosts.begin())];
      const HostRoles roles = names.Roles(events.name[row]);
      // Another thread may evaluate in parallel to the loop.
      if (roles.Has(HostRole::kEvaluation) && (!loop.valid() || ThreadId(t) == loop)) {
        const TimeNs end = std::min(store.HostEnd(HostEventId(row)), step->end);
        if (end > evaluation_until) of_step.evaluation += end - std::max(start, evaluation_until);
        evaluation_until = std::max(evaluation_until, end);
      }
      if (is_frame) continue;
      const bool launches =
          is_call && ((roles.Has(HostRole::kKernelLaunch) && !Contains(captures, start)) ||
                      roles.Has(HostRole::kGraphLaunch));
      if (launches) ++of_step.launches;
      if (!is_call) {
        of_step.has_backward = of_step.has_backward || roles.Has(HostRole::kBackward) ||
                               roles.Has(HostRole::kBackwardOperator);
        of_step.has_optimizer = of_step.has_optimizer || roles.Has(HostRole::kOptimizer) ||
                                roles.Has(HostRole::kOptimizerStep);
      }
      ++(is_call ? of_step.calls : of_step.operators);
      if (pace != pacing.end() && start >= pace->start)
        ++(is_call ? of_step.paced_calls : of_step.paced_operators);
    }
  }
  return counts;
}

/// Computes the cost of recording the host, and finds the steps without recorded GPU work.
void MeasureHost(const TraceStore& store, std::span<const HostCounts> counts, StepAnalysis& out) {
  std::vector<StepRow>& rows = out.steps.list;
  const auto cost = [&](std::int64_t operators, std::int64_t calls) {
    return store.metadata.is_forecast ? DurationNs() : RoughProfilerCost(operators, calls);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].profiler_cost = cost(counts[i].paced_operators, counts[i].paced_calls);
    out.recording.push_back(cost(counts[i].operators, counts[i].calls));
    rows[i].lost_tasks = rows[i].tasks == 0 && counts[i].launches > 0 && store.gpu_tasks.rows() > 0;
  }
}

/// Sets StepRow::loading: loader time within the step's host work, or while the GPU runs the step.
/// A fetch at the end of a step delays the next one.
///
/// @param loop  the thread of the steps' marks; invalid if unknown
void MeasureLoading(const TraceStore& store, NameFacts& names, ThreadId loop, StepAnalysis& out) {
  const auto& events = store.host_events;
  std::vector<bool> feeders;
  if (!loop.valid()) feeders = FindFeeders(store, names);
  std::vector<Interval> ranges;
  std::vector<TimeNs> epoch_edges;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (out.process.valid() && store.threads.process[t] != out.process) continue;
    if (loop.valid() ? ThreadId(t) != loop : feeders[t]) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostRoles roles = names.Roles(events.name[row]);
      if (roles.Has(HostRole::kEpochEdge)) epoch_edges.push_back(events.start[row]);
      const HostEventKind kind = events.kind[row];
      if (roles.Has(HostRole::kDataWait) &&
          (kind == HostEventKind::kOperator || kind == HostEventKind::kAnnotation))
        ranges.push_back({events.start[row], store.HostEnd(HostEventId(row))});
    }
  }
  const IntervalSet loading = IntervalSet::UnionOf(std::move(ranges));
  std::ranges::sort(epoch_edges);
  for (std::size_t i = 0; i < out.steps.list.size(); ++i) {
    StepRow& row = out.steps.list[i];
    const Interval host = row.HostWork(), gpu = out.spans[i];
    const auto edge = std::ranges::lower_bound(epoch_edges, std::min(host.start, gpu.start));
    if (edge != epoch_edges.end() && *edge < std::max(host.end, gpu.end)) continue;
    row.loading = std::max(loading.MeasureWithin(host), loading.MeasureWithin(gpu));
  }
}

/// Sets the kind of training steps that also evaluate, if fewer than half do.
void FindEvaluationsInside(std::span<const HostCounts> counts, StepAnalysis& out) {
  constexpr std::int64_t kMinPart = 10;  // At least 1/10 of the step.
  std::vector<StepRow*> evaluating;
  std::size_t training = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    StepRow& row = out.steps.list[i];
    if (row.kind != StepKind::kTraining) continue;
    ++training;
    if (counts[i].evaluation.ns() > out.hosts[i].length().ns() / kMinPart)
      evaluating.push_back(&row);
  }
  if (evaluating.size() * 2 >= training) return;
  for (StepRow* const row : evaluating) row->kind = StepKind::kTrainingAndEvaluation;
}

/// Sets the kind of each step from its mark, else from its backward pass or optimizer. If any step
/// has a backward pass, a step with GPU work but without backward pass and optimizer is an
/// evaluation.
void FindKinds(const TraceStore& store, std::span<const HostStep> found,
               std::span<const HostCounts> counts, StepAnalysis& out) {
  std::vector<StepRow>& rows = out.steps.list;
  const bool any_backward = std::any_of(
      counts.begin(), counts.end(), [](const HostCounts& of_step) { return of_step.has_backward; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found[i].mark.valid()) {
      const MarkedKind marked =
          KindOfMark(store.Text(store.host_events.name[found[i].mark.index()]));
      rows[i].kind = marked.kind;
      rows[i].tokens = marked.tokens;
    }
    if (rows[i].kind != StepKind::kUnknown) continue;
    if (counts[i].has_backward || counts[i].has_optimizer) {
      rows[i].kind = StepKind::kTraining;
    } else if (any_backward && rows[i].tasks > 0) {
      rows[i].kind = StepKind::kEvaluation;
    }
  }
  FindEvaluationsInside(counts, out);
}

/// Returns the start of the last recorded call of the process. If no call is joined to a task,
/// returns the start of the last task.
TimeNs RecordedUntil(const TraceStore& store, const StepAnalysis& steps) {
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  TimeNs until = tasks.start[tasks.rows() - 1];
  if (!HasLaunches(store)) return until;
  until = TimeNs(INT64_MIN);
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!IsCall(events.kind[row]) || events.start[row] <= until) continue;
    const ProcessId process = store.threads.process[events.thread[row].index()];
    if (!steps.process.valid() || process == steps.process) until = events.start[row];
  }
  return until;
}

/// Number of operators of one name, and of those that call the GPU's API directly.
struct CallsOfName {
  std::int64_t operators = 0, calling = 0;
};

/// Returns, by row, true if the operator makes a call directly.
std::vector<bool> FindCallingOperators(const TraceStore& store) {
  const auto& events = store.host_events;
  std::vector<bool> calling(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!IsCall(events.kind[row])) continue;
    HostEventId op = events.parent[row];
    while (op.valid() && events.kind[op.index()] != HostEventKind::kOperator)
      op = events.parent[op.index()];
    if (op.valid()) calling[op.index()] = true;
  }
  return calling;
}

/// Marks the steps in which a thread runs many consecutive operators without a call. Many means
/// more than 20 % of the step's operators, or five whose names usually make calls in some step.
void FindStepsWithoutCalls(const TraceStore& store, NameFacts& names,
                           std::span<const HostCounts> counts, StepAnalysis& out) {
  constexpr std::int64_t kManyOperators = 5;      // More than 1/5 of the operators.
  constexpr std::int64_t kMin = 3, kSeveral = 5;  // Fewer may make no call by chance.
  const auto& events = store.host_events;
  const std::vector<bool> calling = FindCallingOperators(store);
  /// Calls f(step, row) for each operator and call in a step, except the loader's.
  const auto for_each_in_steps = [&](ThreadId thread, auto f) {
    const TraceStore::RowRange range = store.HostEventsOf(thread);
    TimeNs loading(INT64_MIN);
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if (names.Roles(events.name[row]).Has(HostRole::kDataWait))
        loading = std::max(loading, store.HostEnd(HostEventId(row)));
      if (events.kind[row] != HostEventKind::kOperator && !IsCall(events.kind[row])) continue;
      const std::int32_t step = StepAt(out.hosts, events.start[row]);
      if (step != StepAnalysis::kNoStep && events.start[row] >= loading)
        f(static_cast<std::size_t>(step), row);
    }
  };
  struct Run {
    std::int64_t now = 0, longest = 0;
    void Count(bool breaks) {
      now = breaks ? 0 : now + 1;
      longest = std::max(longest, now);
    }
  };
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (out.process.valid() && store.threads.process[t] != out.process) continue;
    std::map<std::pair<StringId, std::size_t>, CallsOfName> by_step;
    for_each_in_steps(ThreadId(t), [&](std::size_t step, std::uint32_t row) {
      if (events.kind[row] != HostEventKind::kOperator) return;
      CallsOfName& of_name = by_step[{events.name[row], step}];
      ++of_name.operators;
      if (calling[row]) ++of_name.calling;
    });
    std::set<StringId> callers;
    for (const auto& [key, of_name] : by_step) {
      if (2 * of_name.calling >= of_name.operators) callers.insert(key.first);
    }
    std::vector<Run> all(out.hosts.size()), of_callers(out.hosts.size());
    for_each_in_steps(ThreadId(t), [&](std::size_t step, std::uint32_t row) {
      const bool is_operator = events.kind[row] == HostEventKind::kOperator;
      all[step].Count(!is_operator);
      if (is_operator && callers.contains(events.name[row])) of_callers[step].Count(calling[row]);
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool many =
          all[i].longest >= kMin && all[i].longest * kManyOperators > counts[i].operators;
      if (many || of_callers[i].longest >= kSeveral) out.steps.list[i].lost_tasks = true;
    }
  }
}

/// Finds the steps that a cut file does not contain completely. Profilers write the operators of
/// all threads first, then calls and GPU tasks buffer by buffer. So a cut removes calls and tasks
/// of a period, a thread or a stream. A step is whole under these conditions:
/// * Calls continue after it.
/// * All of its launches have their tasks.
/// * It has about as many tasks per operator as any other step.
/// * It has at least as many tasks as any step with the same number of operators.
/// * No thread of the step runs for long without a call.
void FindCutSteps(const TraceStore& store, NameFacts& names, std::span<const HostCounts> counts,
                  StepAnalysis& out) {
  constexpr double kAboutAsMany = 0.9;
  const auto& events = store.host_events;
  std::vector<StepRow>& rows = out.steps.list;
  if (rows.empty()) return;
  if (store.gpu_tasks.rows() == 0) {  // All GPU tasks may be after the cut.
    for (StepRow& row : rows) row.lost_tasks = true;
    return;
  }

  for (const HostEventId launch : FindLaunchesWithoutTask(store, names)) {
    if (out.process.valid() &&
        store.threads.process[events.thread[launch.index()].index()] != out.process)
      continue;
    const std::int32_t step = StepAt(out.hosts, events.start[launch.index()]);
    if (step != StepAnalysis::kNoStep) rows[static_cast<std::size_t>(step)].lost_tasks = true;
  }
  const TimeNs until = RecordedUntil(store, out);
  const auto tasks_per_operator = [&](std::size_t i) {
    return static_cast<double>(rows[i].tasks) /
           static_cast<double>(std::max<std::int64_t>(counts[i].operators, 1));
  };
  double most = 0;
  std::map<std::int64_t, std::int64_t> most_tasks;  // By number of operators.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    most = std::max(most, tasks_per_operator(i));
    std::int64_t& of_alike = most_tasks[counts[i].operators];
    of_alike = std::max(of_alike, rows[i].tasks);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (until < out.hosts[i].end || tasks_per_operator(i) < kAboutAsMany * most ||
        (counts[i].operators > 0 && rows[i].tasks < most_tasks.at(counts[i].operators)))
      rows[i].lost_tasks = true;
  }
  if (HasLaunches(store)) return FindStepsWithoutCalls(store, names, counts, out);
  // Operators were recorded, so calls were recorded too, and all calls are after the cut.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (counts[i].operators > 0) rows[i].lost_tasks = true;
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
        "--steps: the trace has no steps; use --step-marker to name the range that begins a step");
  if (out.steps.list.empty()) {
    return Status::Usage(fmt::format("--steps: no such step; the trace has steps {} to {}",
                                     all.front().index, all.back().index));
  }
  for (std::int32_t& step : out.step_of_task) {
    if (step != StepAnalysis::kNoStep) step = renumbered[static_cast<std::size_t>(step)];
  }
  return Status::Ok();
}

/// Returns, by stream, true if any of its tasks is joined to its launch.
std::vector<bool> StreamsWithLaunches(const TraceStore& store) {
  std::vector<bool> has_launches(store.streams.rows());
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.gpu_tasks.launch[i].valid()) has_launches[store.gpu_tasks.stream[i].index()] = true;
  }
  return has_launches;
}

/// Assigns tasks to steps:
/// - by the launch of the task, if that was recorded
/// - by the start of the task, if steps are on the GPU's clock or the task's stream has no recorded
///   launch
///
/// Leaves out misplaced tasks, and tasks whose launch was lost.
LaunchedWork AssignTasks(const TraceStore& store, bool on_gpu, StepAnalysis& out) {
  const auto& tasks = store.gpu_tasks;
  const bool any_launch = !on_gpu && HasLaunches(store);
  LaunchedWork work;
  work.of_step.resize(out.hosts.size());
  work.before_step.resize(out.hosts.size());
  const std::vector<bool> has_launches = StreamsWithLaunches(store);
  auto misplaced = out.misplaced.begin();
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (misplaced != out.misplaced.end() && misplaced->task == GpuTaskId(i)) {
      ++misplaced;
      continue;
    }
    if (out.hosts.empty() || !IsWorkOf(store, out.process, GpuTaskId(i))) continue;
    if (any_launch && !launch.valid() && !out.before_recording[i] &&
        has_launches[tasks.stream[i].index()])
      continue;
    const bool before_recording = any_launch && !launch.valid() && out.before_recording[i];
    const TimeNs when =
        any_launch && launch.valid() ? store.host_events.start[launch.index()] : tasks.start[i];
    if (before_recording || when < out.hosts.front().start) {
      ++out.steps.tasks_before_first;
      work.end_before_first = std::max(work.end_before_first, store.TaskEnd(GpuTaskId(i)));
      continue;
    }
    const std::int32_t step = StepAt(out.hosts, when);
    if (step == StepAnalysis::kNoStep) {
      ++out.steps.tasks_outside;
      if (const std::size_t next = FirstAfter(out.hosts, when); next < out.hosts.size()) {
        work.before_step[next].Add(store, GpuTaskId(i));
        work.between.push_back({GpuTaskId(i), next});
      }
      continue;
    }
    out.step_of_task[i] = step;
    const auto row = static_cast<std::size_t>(step);
    ++out.steps.list[row].tasks;
    work.of_step[row].Add(store, GpuTaskId(i));
  }
  return work;
}

/// Returns the start of the first recorded task if the GPU ran unrecorded work until then, else
/// INT64_MIN. Evidence: the delay from launch to start is far longer for this task than for tasks
/// that find the GPU idle.
TimeNs BusyBeforeRecording(const TraceStore& store, const StepAnalysis& steps) {
  constexpr DurationNs kFarMoreThanAStart(200'000);
  const auto& tasks = store.gpu_tasks;
  std::optional<std::size_t> first;
  DurationNs waited, usual;  // From launch to start.
  TimeNs busy_until;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!IsWorkOf(store, steps.process, GpuTaskId(i))) continue;
    const HostEventId launch = tasks.launch[i];
    if (!first) {
      first = i;
      busy_until = tasks.start[i];
      if (!launch.valid()) break;
      waited = tasks.start[i] - store.HostEnd(launch);
      if (waited <= kFarMoreThanAStart) break;
    } else if (launch.valid() && store.host_events.start[launch.index()] > busy_until) {
      usual = std::max(usual, tasks.start[i] - store.HostEnd(launch));
    }
    busy_until = std::max(busy_until, store.TaskEnd(GpuTaskId(i)));
  }
  return waited > std::max(kFarMoreThanAStart, usual + usual) ? tasks.start[*first]
                                                              : TimeNs(INT64_MIN);
}

/// Sets the times of the steps. A step ends when its GPU work ends, and begins when the previous
/// steps' GPU work ended. The first step does not include the queue that warm-up left. After steps
/// without recorded GPU work, the wait for earlier work is unknown.
void TimeSteps(const LaunchedWork& work, bool has_gpu, StepAnalysis& out) {
  TimeNs previous_end = work.end_before_first;
  // Earlier work that ends after the first step's work ran in parallel, on another stream or
  // device.
  if (!work.of_step.empty() && previous_end >= work.of_step.front().end)
    previous_end = TimeNs(INT64_MIN);
  bool follows_work = false;
  for (std::size_t i = 0; i < out.hosts.size(); ++i) {
    if (out.steps.list[i].after_pause) {
      follows_work = false;
      // Work that ends after the step's work ran in parallel.
      if (work.before_step[i].end < work.of_step[i].end)
        previous_end = std::max(previous_end, work.before_step[i].end);
    }
    Interval span = out.hosts[i];
    const TimeNs gpu_end = work.of_step[i].end;
    const bool has_work = gpu_end.ns() != INT64_MIN;
    if (has_work) {
      span.start = follows_work
                       ? previous_end
                       : std::clamp(previous_end, span.start, std::max(span.start, gpu_end));
      span.end = std::max(gpu_end, span.start);
      previous_end = span.end;
    }
    StepRow& row = out.steps.list[i];
    follows_work = has_work && !row.lost_tasks;
    row.start = span.start;
    row.wall = span.length();
    row.host_wait = out.late.MeasureWithin(span);
    if (has_gpu) row.gpu_busy = out.busy.MeasureWithin(span);
    out.spans.push_back(span);
  }
}

/// Marks the steps that a task with a wrong timestamp affects. These are the steps in which the
/// task was launched or runs, and the steps of its neighbours.
void MarkTouchedSteps(const TraceStore& store, StepAnalysis& out) {
  const auto mark = [&](std::int32_t step) {
    if (step != StepAnalysis::kNoStep)
      out.steps.list[static_cast<std::size_t>(step)].lost_tasks = true;
  };
  for (const MisplacedTask& misplaced : out.misplaced) {
    const std::size_t task = misplaced.task.index();
    if (!IsWorkOf(store, out.process, misplaced.task)) continue;
    mark(StepAt(out.hosts, store.host_events.start[store.gpu_tasks.launch[task].index()]));
    for (const GpuTaskId other : {misplaced.runs_after, misplaced.runs_before,
                                  misplaced.launched_after, misplaced.launched_before}) {
      if (other.valid()) mark(out.step_of_task[other.index()]);
    }
    for (std::size_t i = 0; i < out.spans.size(); ++i) {
      if (out.spans[i].start < store.TaskEnd(misplaced.task) &&
          store.gpu_tasks.start[task] < out.spans[i].end)
        mark(static_cast<std::int32_t>(i));
    }
  }
}

/// Marks steps that launched kernels but have a length of 0. Their work ended before the previous
/// step's work, because of a wrong timestamp or on another stream. In both cases the length is
/// invalid.
void MarkStepsWithoutTime(std::span<const HostCounts> counts, StepAnalysis& out) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    StepRow& row = out.steps.list[i];
    if (row.wall.ns() == 0 && (row.tasks > 0 || counts[i].launches > 0)) row.lost_tasks = true;
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
  out.steps.confidence_reason = found.reason;
  out.steps.marker = found.marker;
  out.steps.process = out.process;
  for (const HostStep& step : found.steps) {
    StepRow row;
    row.index = step.index;
    row.on_host = step.host;
    if (found.source == StepSource::kAnnotation) row.host = step.host.length();
    out.steps.list.push_back(row);
    out.hosts.push_back(step.host);
  }
  out.step_of_task.assign(store.gpu_tasks.rows(), StepAnalysis::kNoStep);
  out.before_recording = FindWorkBeforeRecording(store);
  out.misplaced = FindMisplacedTasks(store, names);

  LaunchedWork work = AssignTasks(store, found.on_gpu, out);
  work.end_before_first = std::max(work.end_before_first, BusyBeforeRecording(store, out));
  const HostEventId mark = found.steps.empty() ? HostEventId() : found.steps.front().mark;
  const ThreadId loop = mark.valid() ? store.host_events.thread[mark.index()] : ThreadId();
  const std::vector<HostCounts> counts =
      CountHost(store, names, loop, MeasureQueue(store, out), out);
  MeasureHost(store, counts, out);
  if (IsCut(store)) FindCutSteps(store, names, counts, out);
  FindPauses(store, names, work, out);
  TimeSteps(work, store.gpu_tasks.rows() > 0, out);
  MeasureLoading(store, names, loop, out);
  MarkTouchedSteps(store, out);
  MarkStepsWithoutTime(counts, out);
  FindKinds(store, found.steps, counts, out);
  if (Status selected = SelectSteps(options, out); !selected.ok()) return selected;
  const StepKind main = MainKind(out.steps.list);
  for (StepRow& row : out.steps.list) {
    row.of_other_kind =
        main != StepKind::kUnknown && row.kind != StepKind::kUnknown && row.kind != main;
  }
  out.steps.kinds = TableOfKinds(out.steps.list);
  static_cast<WallSummary&>(out.steps) = SummarizeWalls(out.steps.list);
  if (const std::optional<StepTime> time = StepTimeOf(out.steps)) out.steps.step_time = time->mean;
  return out;
}

std::optional<StepAnalysis> FindStretch(const TraceStore& store, NameFacts& names,
                                        const StepAnalysis& steps) {
  const auto& tasks = store.gpu_tasks;
  if (!steps.steps.list.empty() || tasks.rows() == 0) return std::nullopt;
  Interval whole = {tasks.start[0], tasks.start[0]};
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (launch.valid())
      whole.start = std::min(whole.start, store.host_events.start[launch.index()]);
    whole.end = std::max(whole.end, store.TaskEnd(GpuTaskId(i)));
  }
  if (whole.length().ns() <= 0) return std::nullopt;
  AnalysisOptions options;
  options.known_steps = {{0, whole}};
  Result<StepAnalysis> stretch = AnalyzeSteps(store, names, options);
  if (!stretch.ok() || stretch.value().steps.list.front().lost_tasks) return std::nullopt;
  return std::move(stretch).value();
}

std::vector<std::size_t> JudgedRows(const StepAnalysis& steps) {
  std::vector<std::size_t> rows;
  TimeNs covered(INT64_MIN);
  for (std::size_t i = 0; i < steps.spans.size(); ++i) {
    if (!steps.steps.list[i].Counts() || steps.spans[i].start < covered) continue;
    covered = steps.spans[i].end;
    rows.push_back(i);
  }
  return rows;
}

WallSummary SummarizeWalls(std::span<const StepRow> rows) {
  std::vector<DurationNs> walls;
  for (const StepRow& row : rows) {
    if (row.Counts()) walls.push_back(row.wall);
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
