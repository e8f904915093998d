#include "analysis/tables/tables.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "analysis/loop/time_inside.h"
#include "base/statistics.h"
#include "cost/roofline.h"

namespace headroom {
namespace {

/// Orders rows by GPU time, then self host time (the only time without GPU work), then host time,
/// then name.
void SortRows(std::vector<TimeRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const TimeRow& a, const TimeRow& b) {
    if (a.total != b.total) return a.total > b.total;
    if (a.self_host != b.self_host) return a.self_host > b.self_host;
    if (a.host != b.host) return a.host > b.host;
    return a.name < b.name;
  });
}

DurationNs AllTaskTime(const TraceStore& store, const TableScope& scope) {
  DurationNs total;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (scope.HasTask(i)) total += store.gpu_tasks.duration[i];
  }
  return total;
}

/// Collects GPU time per call; calls without GPU work count as zeros.
class CallTimes {
 public:
  void Add(DurationNs time) { nonzero_.push_back(time.ns()); }

  /// Fills in count, total and the order statistics for `calls` calls.
  void Fill(std::int64_t calls, TimeRow& row) {
    std::sort(nonzero_.begin(), nonzero_.end());
    row.count = calls;
    for (const std::int64_t time : nonzero_) row.total += DurationNs(time);
    const auto zeros = static_cast<std::size_t>(
        std::max<std::int64_t>(0, calls - static_cast<std::int64_t>(nonzero_.size())));
    if (nonzero_.empty()) return;
    row.max = DurationNs(nonzero_.back());
    row.min = DurationNs(zeros > 0 ? 0 : nonzero_.front());
    const std::size_t middle = (zeros + nonzero_.size() + 1) / 2;  // Nearest rank, from 1.
    row.p50 = DurationNs(middle <= zeros ? 0 : nonzero_[middle - zeros - 1]);
  }

 private:
  std::vector<std::int64_t> nonzero_;
};

/// GPU time of each event that has tasks, by event row.
class TimePerEvent {
 public:
  explicit TimePerEvent(std::size_t rows) : time_(rows) {}
  void Add(HostEventId event, DurationNs time) { time_[event.index()] += time; }
  DurationNs Of(std::size_t row) const { return time_[row]; }

 private:
  std::vector<DurationNs> time_;
};

/// Values by name, in order of first use. References to values stay valid.
template <typename T>
class ByName {
 public:
  explicit ByName(const TraceStore& store) : slots_(store.strings.size()) {}

  T& operator[](StringId name) {
    std::uint32_t& slot = slots_[name.index()];
    if (slot == 0) {
      values_.emplace_back(name, T());
      slot = static_cast<std::uint32_t>(values_.size());
    }
    return values_[slot - 1].second;
  }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  bool empty() const { return values_.empty(); }

 private:
  std::vector<std::uint32_t> slots_;  ///< Position in values_ + 1, by string.
  std::deque<std::pair<StringId, T>> values_;
};

/// Returns "memcpy", "memset" or the kernel's family.
std::string_view NameOfClass(GpuTaskKind kind, StringId name, NameFacts& names) {
  switch (kind) {
    case GpuTaskKind::kMemcpy:
      return "memcpy";
    case GpuTaskKind::kMemset:
      return "memset";
    case GpuTaskKind::kKernel:
      break;
  }
  return Name(names.Kernel(name).family);
}

}  // namespace

TableScope ScopeOf(const TraceStore& store, const StepAnalysis& steps,
                   const AnalysisOptions& options) {
  TableScope scope;
  if (!options.first_step && !options.last_step) return scope;
  scope.tasks.resize(store.gpu_tasks.rows());
  for (std::size_t i = 0; i < scope.tasks.size(); ++i)
    scope.tasks[i] = !steps.step_of_task.empty() && steps.step_of_task[i] >= 0;
  scope.events.resize(store.host_events.rows());
  for (std::size_t i = 0; i < scope.events.size(); ++i) {
    const TimeNs start = store.host_events.start[i];
    const auto after =
        std::upper_bound(steps.hosts.begin(), steps.hosts.end(), start,
                         [](TimeNs time, const Interval& host) { return time < host.start; });
    scope.events[i] = after != steps.hosts.begin() && start < (after - 1)->end;
  }
  return scope;
}

std::vector<TimeRow> KernelTable(const TraceStore& store, NameFacts& names,
                                 const StepAnalysis& steps, const TableScope& scope) {
  const auto& tasks = store.gpu_tasks;
  std::vector<std::pair<StringId, std::int64_t>> by_name;
  by_name.reserve(tasks.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (scope.HasTask(i)) by_name.emplace_back(tasks.name[i], tasks.duration[i].ns());
  }
  std::sort(by_name.begin(), by_name.end());
  const DurationNs all = AllTaskTime(store, scope);
  ByName<GpuTaskKind> kinds(store);
  ByName<DurationNs> in_steps(store);
  const std::vector<std::size_t> judged = JudgedRows(steps);
  std::vector<bool> counts(steps.spans.size());
  for (const std::size_t row : judged) counts[row] = true;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    kinds[tasks.name[i]] = tasks.kind[i];
    if (i >= steps.step_of_task.size()) continue;
    const std::int32_t step = steps.step_of_task[i];
    if (step != StepAnalysis::kNoStep && counts[static_cast<std::size_t>(step)])
      in_steps[tasks.name[i]] += tasks.duration[i];
  }

  std::vector<TimeRow> rows;
  for (std::size_t first = 0; first < by_name.size();) {
    std::size_t last = first;
    TimeRow row;
    CallTimes times;
    for (; last < by_name.size() && by_name[last].first == by_name[first].first; ++last) {
      times.Add(DurationNs(by_name[last].second));
    }
    const StringId name = by_name[first].first;
    times.Fill(static_cast<std::int64_t>(last - first), row);
    row.name = store.Text(name);
    row.share_pct = SharePct(row.total, all);
    if (!judged.empty())
      row.per_step = DurationNs(in_steps[name].ns() / static_cast<std::int64_t>(judged.size()));
    row.kind = NameOfClass(kinds[name], name, names);
    if (kinds[name] == GpuTaskKind::kKernel)
      row.tensor_cores = Name(names.Kernel(name).tensor_cores);
    rows.push_back(std::move(row));
    first = last;
  }
  SortRows(rows);
  return rows;
}

std::vector<ClassRow> ClassTable(const TraceStore& store, NameFacts& names,
                                 const TableScope& scope) {
  const auto& tasks = store.gpu_tasks;
  struct Sums {
    std::int64_t count = 0;
    DurationNs total;
    GpuTaskKind kind = GpuTaskKind::kKernel;
  };
  ByName<Sums> by_name(store);
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!scope.HasTask(i)) continue;
    Sums& sum = by_name[tasks.name[i]];
    ++sum.count;
    sum.total += tasks.duration[i];
    sum.kind = tasks.kind[i];
  }
  std::map<std::string_view, ClassRow> by_class;
  for (const auto& [name, sum] : by_name) {
    ClassRow& row = by_class[NameOfClass(sum.kind, name, names)];
    if (sum.kind == GpuTaskKind::kKernel) row.family = names.Kernel(name).family;
    row.count += sum.count;
    row.total += sum.total;
  }
  const DurationNs all = AllTaskTime(store, scope);
  std::vector<ClassRow> rows;
  for (auto& [name, row] : by_class) {
    row.name = name;
    row.share_pct = SharePct(row.total, all);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ClassRow& a, const ClassRow& b) { return a.total > b.total; });
  return rows;
}

namespace {

/// Sums over the calls of one operator.
struct OperatorSums {
  std::int64_t calls = 0;
  DurationNs host, self, forward, backward;
  CallTimes times;
  double flops = 0, bytes = 0;
  double limit_ns = 0;  ///< Time at the roofline, for calls whose limit is known.
  DurationNs limited;   ///< GPU time of those calls.
  DurationNs compute_bound, memory_bound;
  bool costed = false;
};

/// Adds the GPU time of the operators' calls and phases. Returns the time of each innermost
/// operator.
TimePerEvent SumTasks(const TraceStore& store, const Attribution& attribution,
                      const TableScope& scope, ByName<OperatorSums>& sums) {
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  TimePerEvent own(events.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!scope.HasTask(i)) continue;
    const HostContext& context = attribution.Of(GpuTaskId(i));
    if (context.op.valid()) own.Add(context.op, tasks.duration[i]);
    if (context.phase == Phase::kBackward && context.forward.valid()) {
      sums[events.name[context.forward.index()]].backward += tasks.duration[i];
    } else if (context.op.valid() && context.phase == Phase::kForward) {
      sums[events.name[context.op.index()]].forward += tasks.duration[i];
    }
  }
  return own;
}

/// Adds the number of calls and the host time of the operators.
void SumCalls(const TraceStore& store, const Attribution& attribution, const TimePerEvent& own,
              const TableScope& scope, ByName<OperatorSums>& sums) {
  const auto& events = store.host_events;
  TimeInside inside(store);
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kOperator) continue;
    const HostEventId parent = events.parent[row];
    const HostEventId caller = parent.valid() ? attribution.Of(parent).op : HostEventId::None();
    const DurationNs lost = inside.Enter(HostEventId(row), caller);
    if (!scope.HasEvent(row)) continue;
    OperatorSums& sum = sums[events.name[row]];
    ++sum.calls;
    sum.host += events.duration[row];
    sum.self += events.duration[row];
    if (caller.valid() && scope.HasEvent(caller.index()))
      sums[events.name[caller.index()]].self -= lost;
    if (own.Of(row).ns() > 0) sum.times.Add(own.Of(row));
  }
}

/// Adds FLOPs, bytes and limits of the operators. Calls that exceed the device's peak have no
/// limit.
void SumCosts(const TraceStore& store, std::span<const CostedCall> work, const TableScope& scope,
              ByName<OperatorSums>& sums) {
  for (const CostedCall& call : work) {
    if (!scope.HasEvent(call.op.index())) continue;
    OperatorSums& sum = sums[store.host_events.name[call.op.index()]];
    sum.costed = true;
    sum.flops += call.cost->flops;
    sum.bytes += call.cost->bytes;
    if (call.point.bound == Bound::kUnknown || !call.point.attainable_us) continue;
    if (call.point.state == RooflineState::kImpossible) continue;
    sum.limit_ns += *call.point.attainable_us * 1e3;
    sum.limited += call.time;
    (call.point.bound == Bound::kCompute ? sum.compute_bound : sum.memory_bound) += call.time;
  }
}

}  // namespace

std::vector<TimeRow> OperatorTable(const TraceStore& store, const Attribution& attribution,
                                   std::span<const CostedCall> work, const TableScope& scope) {
  ByName<OperatorSums> sums(store);
  SumCalls(store, attribution, SumTasks(store, attribution, scope, sums), scope, sums);
  SumCosts(store, work, scope, sums);

  const DurationNs all = AllTaskTime(store, scope);
  std::vector<TimeRow> rows;
  for (auto& [name, sum] : sums) {
    TimeRow row;
    row.name = store.Text(name);
    row.kind = Name(FamilyOfOperator(row.name));
    sum.times.Fill(sum.calls, row);
    row.share_pct = SharePct(row.total, all);
    row.host = sum.host;
    row.self_host = sum.self;
    if (store.gpu_tasks.rows() > 0) {
      row.forward = sum.forward;
      // Without sequence numbers, the forward operator of a backward kernel is unknown.
      if (attribution.KnowsForward() || sum.backward.ns() > 0) row.backward = sum.backward;
    }
    if (sum.costed) {
      row.flops = sum.flops;
      row.bytes = sum.bytes;
    }
    if (sum.limited.ns() > 0) {
      row.bound = sum.compute_bound >= sum.memory_bound ? "compute" : "memory";
      row.roofline_pct = 100.0 * sum.limit_ns / static_cast<double>(sum.limited.ns());
    }
    rows.push_back(std::move(row));
  }
  SortRows(rows);
  return rows;
}

std::vector<TimeRow> LayerTable(const TraceStore& store, NameFacts& names,
                                const Attribution& attribution, const TableScope& scope) {
  struct Sums {
    std::int64_t calls = 0;
    DurationNs host, self, forward, backward;
    CallTimes times;
  };
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  ByName<Sums> sums(store);
  TimeInside inside(store);
  const auto is_layer = [&](std::size_t row) {
    const HostRoles roles = names.Roles(events.name[row]);
    return (events.kind[row] == HostEventKind::kPythonFrame && roles.Has(HostRole::kModuleFrame)) ||
           (events.kind[row] == HostEventKind::kAnnotation && roles.Has(HostRole::kLayerRange));
  };
  std::vector<HostEventId> innermost(
      events.rows());  // Layer around each event, the event included; parents come first.
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId parent = events.parent[row];
    const HostEventId around = parent.valid() ? innermost[parent.index()] : HostEventId::None();
    innermost[row] = around;
    if (!is_layer(row)) continue;
    innermost[row] = HostEventId(row);
    const DurationNs lost = inside.Enter(HostEventId(row), around);
    if (!scope.HasEvent(row)) continue;
    Sums& sum = sums[events.name[row]];
    ++sum.calls;
    sum.host += events.duration[row];
    sum.self += events.duration[row];
    if (around.valid() && scope.HasEvent(around.index()))
      sums[events.name[around.index()]].self -= lost;
  }
  if (sums.empty()) return {};
  TimePerEvent per_call(events.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostContext& context = attribution.Of(GpuTaskId(i));
    if (!context.layer.valid() || !scope.HasTask(i)) continue;
    Sums& sum = sums[events.name[context.layer.index()]];
    (context.phase == Phase::kBackward ? sum.backward : sum.forward) += tasks.duration[i];
    per_call.Add(context.layer, tasks.duration[i]);
  }
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (per_call.Of(row).ns() > 0) sums[events.name[row]].times.Add(per_call.Of(row));
  }
  const DurationNs all = AllTaskTime(store, scope);
  std::vector<TimeRow> rows;
  for (auto& [name, sum] : sums) {
    TimeRow row;
    row.name = store.Text(name);
    sum.times.Fill(sum.calls, row);
    row.share_pct = SharePct(row.total, all);
    row.host = sum.host;
    row.self_host = sum.self;
    if (tasks.rows() > 0) {
      row.forward = sum.forward;
      // Without sequence numbers, the forward layer of a backward kernel is unknown.
      if (attribution.KnowsForward() || sum.backward.ns() > 0) row.backward = sum.backward;
    }
    rows.push_back(std::move(row));
  }
  SortRows(rows);
  return rows;
}

std::vector<LineRow> LineTable(const TraceStore& store, const Attribution& attribution,
                               const TableScope& scope) {
  const auto& tasks = store.gpu_tasks;
  ByName<LineRow> sums(store);
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostContext& context = attribution.Of(GpuTaskId(i));
    if (!context.line.valid() || !scope.HasTask(i)) continue;
    LineRow& row = sums[store.host_events.name[context.line.index()]];
    ++row.count;
    row.total += tasks.duration[i];
    (context.phase == Phase::kBackward ? row.backward : row.forward) += tasks.duration[i];
  }
  const DurationNs all = AllTaskTime(store, scope);
  std::vector<LineRow> rows;
  for (auto& [name, row] : sums) {
    row.location = store.Text(name);
    row.share_pct = SharePct(row.total, all);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const LineRow& a, const LineRow& b) {
    return a.total != b.total ? a.total > b.total : a.location < b.location;
  });
  return rows;
}

}  // namespace headroom
