#include "analysis/step_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace headroom {
namespace {

FoundSteps FromAnnotations(const TraceStore& store) {
  FoundSteps found;
  if (store.steps.rows() == 0) return found;
  found.source = StepSource::kAnnotation;
  found.marker = "ProfilerStep#N";
  found.process = store.threads.process[store.steps.thread[0].index()];
  for (std::size_t s = 0; s < store.steps.rows(); ++s) {
    if (store.threads.process[store.steps.thread[s].index()] != found.process) continue;
    const TimeNs start = store.steps.start[s];
    const HostStep step = {store.steps.index[s], {start, start + store.steps.duration[s]}};
    if (!found.steps.empty()) {
      HostStep& last = found.steps.back();
      // Some profilers write the range twice, as an operator and as an annotation.
      if (step.index == last.index && start < last.host.end) continue;
      last.host.end = std::min(last.host.end, start);
      if (last.host.length().ns() == 0) found.steps.pop_back();
    }
    found.steps.push_back(step);
  }
  // Damage can leave a name without its number.
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    if (found.steps[i].index < 0) found.steps[i].index = static_cast<std::int64_t>(i);
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

/// Sorted times of events that share a process and a name.
using Marks = std::map<std::pair<ProcessId, StringId>, std::vector<TimeNs>>;

enum class MarkAt { kStart, kEnd };

/// The host events that satisfy `accept`.
template <typename Accept>
Marks CollectMarks(const TraceStore& store, MarkAt at, Accept accept) {
  Marks marks;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!accept(row)) continue;
    const ProcessId process = store.threads.process[events.thread[row].index()];
    marks[{process, events.name[row]}].push_back(
        at == MarkAt::kEnd ? store.HostEnd(HostEventId(row)) : events.start[row]);
  }
  for (auto& [key, times] : marks) std::sort(times.begin(), times.end());
  return marks;
}

/// Steps between the marks that return evenly; of several, those with the longest period.
FoundSteps FromMarks(const TraceStore& store, const Marks& marks, double uneven) {
  FoundSteps found;
  DurationNs longest;
  for (const auto& [key, times] : marks) {
    if (times.size() < kFewestMarks || Unevenness(times) > uneven) continue;
    const DurationNs period((times.back() - times.front()).ns() /
                            static_cast<std::int64_t>(times.size() - 1));
    if (period <= longest) continue;
    longest = period;
    found.source = StepSource::kInferred;
    found.process = key.first;
    found.marker = std::string(store.Text(key.second));
    found.confidence = ConfidenceOf(times);
    found.steps = BetweenMarks(times);
  }
  return found;
}

/// Profilers that know no categories write annotations as operators.
bool IsRange(HostEventKind kind) {
  return kind == HostEventKind::kAnnotation || kind == HostEventKind::kOperator;
}

/// The end of each Optimizer.step: once a step by definition. Of several optimizers, the one that
/// steps least often.
FoundSteps FromOptimizer(const TraceStore& store, NameFacts& names) {
  const auto& events = store.host_events;
  const Marks marks = CollectMarks(store, MarkAt::kEnd, [&](std::size_t row) {
    return IsRange(events.kind[row]) && names.Roles(events.name[row]).Has(HostRole::kOptimizerStep);
  });
  return FromMarks(store, marks, kUneven);
}

/// An annotation that returns evenly; of several, the one that covers most time.
FoundSteps FromRepeatedAnnotation(const TraceStore& store) {
  const Marks marks = CollectMarks(store, MarkAt::kStart, [&](std::size_t row) {
    return store.host_events.kind[row] == HostEventKind::kAnnotation;
  });
  return FromMarks(store, marks, kUneven / 3);
}

/// Kernels that return evenly: several names that each run once a step. Natural candidates (loss,
/// optimizer, collectives) need no special rule.
FoundSteps FromRepeatedKernels(const TraceStore& store) {
  FoundSteps found;
  const auto& tasks = store.gpu_tasks;
  // Steps are spans of the host where there is one: a kernel counts when it was launched.
  const bool any_launch = std::any_of(tasks.launch.values().begin(), tasks.launch.values().end(),
                                      [](HostEventId launch) { return launch.valid(); });
  std::map<std::pair<DeviceId, StringId>, std::vector<TimeNs>> marks;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (tasks.kind[i] != GpuTaskKind::kKernel || launch.valid() != any_launch) continue;
    marks[{store.DeviceOf(GpuTaskId(i)), tasks.name[i]}].push_back(
        any_launch ? store.host_events.start[launch.index()] : tasks.start[i]);
  }
  if (marks.empty()) return found;
  const DurationNs extent = tasks.start[tasks.rows() - 1] - tasks.start[0];
  // One name that returns evenly is a coincidence, several that return equally often agree on a
  // step. The fewest marks are the longest period.
  constexpr std::size_t kMostMarks = 10000;
  constexpr std::size_t kAgreeingNames = 3;
  std::map<std::size_t, std::vector<const std::vector<TimeNs>*>> by_count;
  for (auto& [key, times] : marks) {
    if (times.size() < kFewestMarks + 1 || times.size() > kMostMarks) continue;
    std::sort(times.begin(), times.end());
    if (Unevenness(times) > kEven) continue;
    if ((times.back() - times.front()).ns() < extent.ns() / 2) continue;
    by_count[times.size()].push_back(&times);
  }
  for (const auto& [count, agreeing] : by_count) {
    if (agreeing.size() < kAgreeingNames) continue;
    found.source = StepSource::kInferred;
    found.marker = fmt::format("{} kernels that run once a step", agreeing.size());
    found.confidence = count >= 5 ? "medium" : "low";
    found.steps = BetweenMarks(*agreeing.front());
    break;
  }
  return found;
}

Result<FoundSteps> FromMarker(const TraceStore& store, const std::string& marker) {
  const Marks by_name = CollectMarks(store, MarkAt::kStart, [&](std::size_t row) {
    return store.host_events.kind[row] != HostEventKind::kGpuAnnotation &&
           store.Text(store.host_events.name[row]).starts_with(marker);
  });
  // The names may carry numbers. Of several processes, the one that begins first has the steps.
  std::map<ProcessId, std::vector<TimeNs>> by_process;
  for (const auto& [key, times] : by_name) {
    std::vector<TimeNs>& of_process = by_process[key.first];
    of_process.insert(of_process.end(), times.begin(), times.end());
  }
  FoundSteps found;
  std::vector<TimeNs> times;
  for (auto& [process, of_process] : by_process) {
    std::sort(of_process.begin(), of_process.end());
    of_process.erase(std::unique(of_process.begin(), of_process.end()), of_process.end());
    const auto rank = [](const std::vector<TimeNs>& t) {
      return std::tuple(t.size() < 2, t.front());
    };
    if (!times.empty() && rank(times) <= rank(of_process)) continue;
    times = of_process;
    found.process = process;
  }
  if (times.size() < 2) {
    return Status::Usage(
        fmt::format("--step-marker: {} event in the trace has a name that starts with it; steps "
                    "need at least two",
                    times.empty() ? "no" : "only one"));
  }
  found.source = StepSource::kGiven;
  found.marker = marker;
  found.steps = BetweenMarks(times);
  return found;
}

}  // namespace

Result<FoundSteps> FindSteps(const TraceStore& store, NameFacts& names,
                             const AnalysisOptions& options) {
  if (!options.step_marker.empty()) return FromMarker(store, options.step_marker);
  FoundSteps found = FromAnnotations(store);
  if (found.steps.empty()) found = FromOptimizer(store, names);
  if (found.steps.empty()) found = FromRepeatedAnnotation(store);
  if (found.steps.empty()) found = FromRepeatedKernels(store);
  return found;
}

}  // namespace headroom
