#include "analysis/row_calls.h"

#include <algorithm>

#include "base/statistics.h"

namespace headroom {
namespace {

StringId IdOf(const TraceStore& store, std::string_view name) {
  for (std::size_t i = 0; i < store.strings.size(); ++i) {
    if (store.Text(StringId(i)) == name) return StringId(i);
  }
  return StringId::None();
}

std::optional<std::int64_t> StepOfTask(const StepAnalysis& steps, std::size_t task) {
  if (steps.step_of_task.empty() || steps.step_of_task[task] < 0) return std::nullopt;
  return steps.steps.list[static_cast<std::size_t>(steps.step_of_task[task])].index;
}

/// Returns the index of the step that the host runs at this time, or nullopt between steps.
std::optional<std::int64_t> StepOfHost(const StepAnalysis& steps, TimeNs time) {
  const auto after =
      std::upper_bound(steps.hosts.begin(), steps.hosts.end(), time,
                       [](TimeNs moment, const Interval& host) { return moment < host.start; });
  if (after == steps.hosts.begin() || time >= (after - 1)->end) return std::nullopt;
  return steps.steps.list[static_cast<std::size_t>(after - steps.hosts.begin()) - 1].index;
}

std::vector<RowCall> CallsOfKernel(const TraceStore& store, const StepAnalysis& steps,
                                   const TableScope& scope, StringId name) {
  const auto& tasks = store.gpu_tasks;
  std::vector<RowCall> calls;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.name[i] != name || !scope.HasTask(i)) continue;
    calls.push_back({.id = static_cast<std::int64_t>(i),
                     .start = tasks.start[i],
                     .time = tasks.duration[i],
                     .host = std::nullopt,
                     .step_index = StepOfTask(steps, i)});
  }
  return calls;
}

/// Returns the calls of an operator or layer, with their GPU time.
std::vector<RowCall> CallsOfHost(const TraceStore& store, NameFacts& names,
                                 const AnalyzedTrace& trace, const TableScope& scope,
                                 bool of_layers, StringId name) {
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  std::vector<DurationNs> gpu(events.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostContext& context = trace.attribution->Of(GpuTaskId(i));
    const HostEventId of = of_layers ? context.layer : context.op;
    if (of.valid() && scope.HasTask(i)) gpu[of.index()] += tasks.duration[i];
  }
  const HostRoles roles = names.Roles(name);
  const auto counts = [&](std::size_t row) {
    const HostEventKind kind = events.kind[row];
    if (!of_layers) return kind == HostEventKind::kOperator;
    return (kind == HostEventKind::kPythonFrame && roles.Has(HostRole::kModuleFrame)) ||
           (kind == HostEventKind::kAnnotation && roles.Has(HostRole::kLayerRange));
  };
  std::vector<RowCall> calls;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.name[row] != name || !scope.HasEvent(row) || !counts(row)) continue;
    calls.push_back({.id = static_cast<std::int64_t>(row),
                     .start = events.start[row],
                     .time = gpu[row],
                     .host = events.duration[row],
                     .step_index = StepOfHost(trace.steps, events.start[row])});
  }
  return calls;
}

}  // namespace

RowCalls CallsOf(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                 const TableScope& scope, CallTable table, std::string_view name,
                 std::size_t most) {
  RowCalls result;
  const StringId id = IdOf(store, name);
  if (!id.valid()) return result;
  std::vector<RowCall> calls =
      table == CallTable::kKernels
          ? CallsOfKernel(store, trace.steps, scope, id)
          : CallsOfHost(store, names, trace, scope, table == CallTable::kLayers, id);
  if (calls.empty()) return result;
  result.of_gpu = std::any_of(calls.begin(), calls.end(), [](const RowCall& call) {
    return !call.host || call.time > DurationNs(0);
  });
  if (!result.of_gpu) {
    for (RowCall& call : calls) call.time = *call.host;
  }
  result.count = static_cast<std::int64_t>(calls.size());
  std::vector<DurationNs> times;
  times.reserve(calls.size());
  for (const RowCall& call : calls) times.push_back(call.time);
  std::sort(times.begin(), times.end());
  result.min = times.front();
  result.p50 = SortedPercentile(times, 50);
  result.p90 = SortedPercentile(times, 90);
  result.p99 = SortedPercentile(times, 99);
  result.max = times.back();
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most, calls.size()));
  std::partial_sort(calls.begin(), calls.begin() + shown, calls.end(),
                    [](const RowCall& a, const RowCall& b) {
                      if (a.time != b.time) return a.time > b.time;
                      return a.start != b.start ? a.start < b.start : a.id < b.id;
                    });
  calls.resize(static_cast<std::size_t>(shown));
  result.slowest = std::move(calls);
  return result;
}

}  // namespace headroom
