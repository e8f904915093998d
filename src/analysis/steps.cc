#include "analysis/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "analysis/profiler_cost.h"
#include "base/statistics.h"

namespace headroom {
namespace {

struct FoundSteps {
  StepSource source = StepSource::kNone;
  std::string confidence;
  std::string marker;
  std::vector<HostStep> steps;
};

FoundSteps FromAnnotations(const TraceStore& store) {
  FoundSteps found;
  if (store.steps.rows() == 0) return found;
  found.source = StepSource::kAnnotation;
  found.marker = "ProfilerStep#N";
  // Of several processes in one file, the one that annotated first speaks for the steps.
  const ProcessId process = store.threads.process[store.steps.thread[0].index()];
  for (std::size_t s = 0; s < store.steps.rows(); ++s) {
    if (store.threads.process[store.steps.thread[s].index()] != process) continue;
    const TimeNs start = store.steps.start[s];
    found.steps.push_back({store.steps.index[s], {start, start + store.steps.duration[s]}});
  }
  return found;
}

/// Distances between marks as steps: each runs from one mark to the next.
std::vector<HostStep> BetweenMarks(const std::vector<TimeNs>& marks) {
  std::vector<HostStep> steps;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    steps.push_back({static_cast<std::int64_t>(i), {marks[i], marks[i + 1]}});
  }
  return steps;
}

/// Standard deviation over mean of the distances between marks: 0 is perfectly periodic.
double Unevenness(const std::vector<TimeNs>& marks) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(marks.size() - 1);
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const auto d = static_cast<double>((marks[i + 1] - marks[i]).ns());
    sum += d;
    squares += d * d;
  }
  const double mean = sum / n;
  return mean <= 0 ? INFINITY : std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
}

/// How often and how evenly a mark must return to be taken for a step.
constexpr std::size_t kFewestMarks = 3;
constexpr double kEven = 0.05;
constexpr double kUneven = 0.3;

std::string ConfidenceOf(const std::vector<TimeNs>& marks) {
  const double unevenness = Unevenness(marks);
  if (unevenness < kEven && marks.size() >= 5) return "high";
  return unevenness < kEven * 2 || marks.size() >= 5 ? "medium" : "low";
}

/// Starts (or ends) of top-level host events by name, for names that satisfy `accept`.
template <typename Accept>
std::map<StringId, std::vector<TimeNs>> MarksByName(const TraceStore& store, bool at_end,
                                                    Accept accept) {
  std::map<StringId, std::vector<TimeNs>> marks;
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    if (!accept(row)) continue;
    const HostEventId id{row};
    marks[store.host_events.name[row]].push_back(at_end ? store.HostEnd(id)
                                                        : store.host_events.start[row]);
  }
  for (auto& [name, times] : marks) std::sort(times.begin(), times.end());
  return marks;
}

/// The end of each Optimizer.step: once a step by definition.
FoundSteps FromOptimizer(const TraceStore& store, NameFacts& names) {
  FoundSteps found;
  const auto marks = MarksByName(store, /*at_end=*/true, [&](std::size_t row) {
    return store.host_events.kind[row] == HostEventKind::kAnnotation &&
           names.Roles(store.host_events.name[row]).Has(HostRole::kOptimizerStep);
  });
  for (const auto& [name, times] : marks) {
    if (times.size() < kFewestMarks || Unevenness(times) > kUneven) continue;
    found.source = StepSource::kInferred;
    found.marker = std::string(store.Text(name));
    found.confidence = ConfidenceOf(times);
    found.steps = BetweenMarks(times);
    break;
  }
  return found;
}

/// An annotation that returns evenly; of several, the one that covers most time.
FoundSteps FromRepeatedAnnotation(const TraceStore& store) {
  FoundSteps found;
  const auto marks = MarksByName(store, /*at_end=*/false, [&](std::size_t row) {
    return store.host_events.kind[row] == HostEventKind::kAnnotation;
  });
  DurationNs best;
  for (const auto& [name, times] : marks) {
    if (times.size() < kFewestMarks || Unevenness(times) > kUneven / 3) continue;
    const DurationNs period((times.back() - times.front()).ns() /
                            static_cast<std::int64_t>(times.size() - 1));
    if (period <= best) continue;
    best = period;
    found.source = StepSource::kInferred;
    found.marker = std::string(store.Text(name));
    found.confidence = ConfidenceOf(times);
    found.steps = BetweenMarks(times);
  }
  return found;
}

/// Kernels that return evenly: the same count of the same rare kernel per step. The candidate whose
/// marks are the fewest (the longest period) and even wins; optimizer and collective kernels are
/// natural candidates but need no special rule.
FoundSteps FromRepeatedKernel(const TraceStore& store) {
  FoundSteps found;
  std::map<StringId, std::vector<TimeNs>> marks;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.gpu_tasks.kind[i] != GpuTaskKind::kKernel) continue;
    // Steps are spans of the host where there is one: a kernel counts when it was launched.
    const HostEventId launch = store.gpu_tasks.launch[i];
    if (!launch.valid() && store.host_events.rows() > 0) continue;
    marks[store.gpu_tasks.name[i]].push_back(
        launch.valid() ? store.host_events.start[launch.index()] : store.gpu_tasks.start[i]);
  }
  if (marks.empty()) return found;
  for (auto& [name, times] : marks) std::sort(times.begin(), times.end());
  const DurationNs extent =
      store.gpu_tasks.start[store.gpu_tasks.rows() - 1] - store.gpu_tasks.start[0];
  // Count the names that return evenly the same number of times: one such name is a coincidence,
  // several agree.
  std::map<std::size_t, std::vector<StringId>> by_count;
  constexpr std::size_t kMostMarks = 10000;
  for (const auto& [name, times] : marks) {
    if (times.size() < kFewestMarks + 1 || times.size() > kMostMarks) continue;
    if (Unevenness(times) > kEven) continue;
    if ((times.back() - times.front()).ns() * 2 < extent.ns()) continue;
    by_count[times.size()].push_back(name);
  }
  constexpr std::size_t kAgreeingNames = 3;
  for (const auto& [count, agreeing] : by_count) {
    if (agreeing.size() < kAgreeingNames) continue;
    const std::vector<TimeNs>& times = marks[agreeing.front()];
    found.source = StepSource::kInferred;
    found.marker = fmt::format("{} kernels that run once a step", agreeing.size());
    found.confidence = count >= 5 ? "medium" : "low";
    found.steps = BetweenMarks(times);
    break;
  }
  return found;
}

Result<FoundSteps> FromMarker(const TraceStore& store, const std::string& marker) {
  const auto marks = MarksByName(store, /*at_end=*/false, [&](std::size_t row) {
    return store.host_events.kind[row] != HostEventKind::kGpuAnnotation &&
           store.Text(store.host_events.name[row]).starts_with(marker);
  });
  std::vector<TimeNs> times;
  for (const auto& [name, of_name] : marks)
    times.insert(times.end(), of_name.begin(), of_name.end());
  std::sort(times.begin(), times.end());
  if (times.size() < 2) {
    return Status::Usage(
        fmt::format("--step-marker: {} event in the trace has a name that starts with it; "
                    "steps need at least two",
                    times.empty() ? "no" : "only one"));
  }
  FoundSteps found;
  found.source = StepSource::kGiven;
  found.marker = marker;
  found.steps = BetweenMarks(times);
  return found;
}

FoundSteps Infer(const TraceStore& store, NameFacts& names) {
  FoundSteps found = FromOptimizer(store, names);
  if (found.steps.empty()) found = FromRepeatedAnnotation(store);
  if (found.steps.empty()) found = FromRepeatedKernel(store);
  return found;
}

/// Depth of the launch queue at each launch: launched and not yet started.
void MeasureQueue(const TraceStore& store, StepAnalysis& out) {
  const auto& tasks = store.gpu_tasks;
  std::vector<std::pair<TimeNs, std::int32_t>> launches;
  std::vector<TimeNs> starts;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!tasks.launch[i].valid()) continue;
    launches.emplace_back(store.host_events.start[tasks.launch[i].index()], out.step_of_task[i]);
    starts.push_back(tasks.start[i]);  // Already in order.
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int64_t> sums(out.steps.list.size()), counts(out.steps.list.size());
  std::size_t started = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    while (started < starts.size() && starts[started] <= launches[i].first) ++started;
    const std::int32_t step = launches[i].second;
    if (step == StepAnalysis::kNoStep) continue;
    const auto row = static_cast<std::size_t>(step);
    const std::int64_t depth = std::max<std::int64_t>(
        0, static_cast<std::int64_t>(i + 1) - static_cast<std::int64_t>(started));
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

/// GPU idle that ends with a task launched after the idle began, by step.
void MeasureHostWait(const TraceStore& store, StepAnalysis& out) {
  const auto& tasks = store.gpu_tasks;
  if (tasks.rows() == 0) return;
  TimeNs busy_until = store.TaskEnd(GpuTaskId(0u));
  std::size_t step = 0;
  for (std::size_t i = 1; i < tasks.rows(); ++i) {
    const TimeNs start = tasks.start[i];
    if (start > busy_until && tasks.launch[i].valid() &&
        store.host_events.start[tasks.launch[i].index()] > busy_until) {
      // Gaps and spans both go forward in time.
      while (step < out.spans.size() && out.spans[step].end <= busy_until) ++step;
      for (std::size_t s = step; s < out.spans.size() && out.spans[s].start < start; ++s) {
        out.steps.list[s].host_wait +=
            Interval{std::max(busy_until, out.spans[s].start), std::min(start, out.spans[s].end)}
                .length();
      }
    }
    busy_until = std::max(busy_until, store.TaskEnd(GpuTaskId(i)));
  }
}

/// Prices the recording of what the host did in each step.
void MeasureProfilerCost(const TraceStore& store, const std::vector<HostStep>& hosts,
                         Steps& steps) {
  std::vector<std::int64_t> operators(hosts.size()), calls(hosts.size());
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    std::size_t step = 0;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostEventKind kind = store.host_events.kind[row];
      const bool is_call =
          kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
      if (!is_call && kind != HostEventKind::kOperator && kind != HostEventKind::kAnnotation)
        continue;
      const TimeNs start = store.host_events.start[row];
      while (step < hosts.size() && hosts[step].host.end <= start) ++step;
      if (step == hosts.size()) break;
      if (start >= hosts[step].host.start) ++(is_call ? calls : operators)[step];
    }
  }
  for (std::size_t i = 0; i < hosts.size(); ++i)
    steps.list[i].profiler_cost = RoughProfilerCost(operators[i], calls[i]);
}

}  // namespace

Result<StepAnalysis> AnalyzeSteps(const TraceStore& store, NameFacts& names,
                                  const IntervalSet& gpu_busy, const AnalysisOptions& options) {
  FoundSteps found;
  if (!options.step_marker.empty()) {
    Result<FoundSteps> given = FromMarker(store, options.step_marker);
    if (!given.ok()) return given.status();
    found = std::move(given).value();
  } else {
    found = FromAnnotations(store);
    if (found.steps.empty()) found = Infer(store, names);
  }

  const auto& tasks = store.gpu_tasks;
  StepAnalysis out;
  out.steps.source = found.source;
  out.steps.confidence = found.confidence;
  out.steps.marker = found.marker;
  out.step_of_task.assign(tasks.rows(), StepAnalysis::kNoStep);
  out.before_recording = FindWorkBeforeRecording(store);
  const bool by_launch = store.host_events.rows() > 0;
  // When the GPU is done with what was launched before the first step.
  TimeNs earlier_end(INT64_MIN);

  // The work of a step is what is launched inside it.
  std::vector<TimeNs> gpu_end(found.steps.size(), TimeNs(INT64_MIN));
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    TimeNs when = tasks.start[i];
    if (by_launch) {
      if (!tasks.launch[i].valid()) {
        if (!out.before_recording[i]) continue;
        ++out.steps.tasks_before_first;
        earlier_end = std::max(earlier_end, store.TaskEnd(GpuTaskId(i)));
        continue;
      }
      when = store.host_events.start[tasks.launch[i].index()];
    }
    const auto next =
        std::upper_bound(found.steps.begin(), found.steps.end(), when,
                         [](TimeNs t, const HostStep& step) { return t < step.host.start; });
    if (next == found.steps.begin()) {
      ++out.steps.tasks_before_first;
      earlier_end = std::max(earlier_end, store.TaskEnd(GpuTaskId(i)));
      continue;
    }
    const auto row = static_cast<std::size_t>(next - found.steps.begin()) - 1;
    if (when >= found.steps[row].host.end) {
      ++out.steps.tasks_outside;
      continue;
    }
    out.step_of_task[i] = static_cast<std::int32_t>(row);
    gpu_end[row] = std::max(gpu_end[row], store.TaskEnd(GpuTaskId(i)));
  }

  TimeNs previous_end(INT64_MIN);
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const HostStep& host = found.steps[i];
    const bool has_work = gpu_end[i].ns() != INT64_MIN;
    Interval span = host.host;
    if (has_work) {
      // After a step without GPU work there is no end to measure from.
      if (previous_end.ns() != INT64_MIN) span.start = previous_end;
      // The first step does not pay for the queue that warm-up left.
      if (i == 0)
        span.start = std::clamp(earlier_end, span.start, std::max(span.start, gpu_end[i]));
      span.end = std::max(gpu_end[i], span.start);
    }
    previous_end = has_work ? span.end : TimeNs(INT64_MIN);
    StepRow row;
    row.index = host.index;
    row.start = span.start;
    row.wall = span.length();
    if (tasks.rows() > 0) row.gpu_busy = gpu_busy.MeasureWithin(span);
    if (found.source == StepSource::kAnnotation) row.host = host.host.length();
    out.steps.list.push_back(row);
    out.spans.push_back(span);
  }
  MeasureProfilerCost(store, found.steps, out.steps);
  MeasureQueue(store, out);
  MeasureHostWait(store, out);

  if (options.first_step || options.last_step) {
    std::vector<StepRow> kept;
    std::vector<Interval> spans;
    std::vector<std::int32_t> renumbered(found.steps.size(), StepAnalysis::kNoStep);
    for (std::size_t i = 0; i < out.steps.list.size(); ++i) {
      const std::int64_t index = out.steps.list[i].index;
      if (index < options.first_step.value_or(INT64_MIN) ||
          index > options.last_step.value_or(INT64_MAX))
        continue;
      renumbered[i] = static_cast<std::int32_t>(kept.size());
      kept.push_back(out.steps.list[i]);
      spans.push_back(out.spans[i]);
    }
    if (kept.empty() && !out.steps.list.empty()) {
      return Status::Usage(fmt::format("--steps: no such step; the trace has steps {} to {}",
                                       out.steps.list.front().index, out.steps.list.back().index));
    }
    if (kept.empty())
      return Status::Usage(
          "--steps: the trace has no steps; name what begins one with --step-marker");
    out.steps.list = std::move(kept);
    out.spans = std::move(spans);
    for (std::int32_t& step : out.step_of_task) {
      if (step != StepAnalysis::kNoStep) step = renumbered[static_cast<std::size_t>(step)];
    }
  }

  std::vector<std::int64_t> walls;
  for (const StepRow& row : out.steps.list) walls.push_back(row.wall.ns());
  if (!walls.empty()) {
    std::sort(walls.begin(), walls.end());
    out.steps.p50 = DurationNs(SortedPercentile(walls, 50));
    out.steps.min = DurationNs(walls.front());
    out.steps.max = DurationNs(walls.back());
    std::int64_t sum = 0;
    for (const std::int64_t wall : walls) sum += wall;
    out.steps.mean = DurationNs(sum / static_cast<std::int64_t>(walls.size()));
  }
  return out;
}

}  // namespace headroom
