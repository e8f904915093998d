#include "analysis/gpu/syncs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "store/natural_sort.h"
#include "store/slice.h"

namespace headroom {
namespace {

/// Times of a launch and of the start of its task.
struct LaunchedStart {
  TimeNs launch;
  TimeNs start;
};

/// Returns the launches in order of time. The `start` of each is the earliest start among its task
/// and all tasks launched later.
std::vector<LaunchedStart> FindLaunches(const TraceStore& store, ProcessId process) {
  const auto& tasks = store.gpu_tasks;
  std::vector<LaunchedStart> launched;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.launch[i].valid() && IsWorkOf(store, process, GpuTaskId(i)))
      launched.push_back({store.host_events.start[tasks.launch[i].index()], tasks.start[i]});
  }
  NaturalStableSort(
      launched, [](const LaunchedStart& a, const LaunchedStart& b) { return a.launch < b.launch; });
  for (std::size_t i = launched.size(); i-- > 1;) {
    launched[i - 1].start = std::min(launched[i - 1].start, launched[i].start);
  }
  return launched;
}

/// Returns, in ascending order, the ends of copies of at least kData bytes to the host. Smaller
/// copies only read a value.
std::vector<TimeNs> FindResults(const TraceStore& store, ProcessId process) {
  constexpr std::int64_t kData = 4096;
  const auto& tasks = store.gpu_tasks;
  std::vector<TimeNs> ends;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.copy[i] == CopyKind::kDeviceToHost && tasks.bytes[i] >= kData &&
        IsWorkOf(store, process, GpuTaskId(i))) {
      ends.push_back(store.TaskEnd(GpuTaskId(i)));
    }
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

/// Returns the time of a thread's operators in the interval, excluding a loader's operators.
DurationNs OperatorsWithin(const TraceStore& store, const Attribution& attribution, ThreadId thread,
                           Interval within) {
  const auto& events = store.host_events;
  const auto [first, last] = HostEventsWithin(store, thread, within);
  IntervalSet operators;
  for (std::uint32_t row = first; row < last; ++row) {
    const HostEventId event(row);
    if (events.kind[row] == HostEventKind::kOperator && store.HostEnd(event) <= within.end &&
        attribution.Of(event).phase != Phase::kDataWait) {
      operators.AppendInOrder({events.start[row], store.HostEnd(event)});
    }
  }
  return operators.Measure();
}

/// A stall lasts at least this long. Gaps between queued tasks are shorter.
constexpr DurationNs kLongStall(1'000'000);

IntervalSet LongStalls(const IntervalSet& held) {
  IntervalSet stalls;
  for (const Interval& interval : held.intervals()) {
    if (interval.length() >= kLongStall) stalls.AppendInOrder(interval);
  }
  return stalls;
}

/// Returns the longest intersection of one interval of `set` with `within`.
Interval LongestWithin(const IntervalSet& set, Interval within) {
  const std::vector<Interval>& all = set.intervals();
  Interval longest{within.end, within.end};
  for (auto it = std::partition_point(all.begin(), all.end(),
                                      [&](const Interval& i) { return i.end <= within.start; });
       it != all.end() && it->start < within.end; ++it) {
    const Interval part{std::max(it->start, within.start), std::min(it->end, within.end)};
    if (part.length() > longest.length()) longest = part;
  }
  return longest;
}

}  // namespace

std::vector<HostEventId> FindBlockingCalls(const TraceStore& store, NameFacts& names,
                                           ProcessId process) {
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  std::vector<HostEventId> calls;
  // A copy call that returns no earlier than its GPU copy ends has waited for it. Copies within the
  // device, or to and from pinned memory, do not block, even if they end before the call returns.
  std::vector<bool> waits(events.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (tasks.kind[i] != GpuTaskKind::kMemcpy || !launch.valid()) continue;
    if (tasks.copy[i] == CopyKind::kDeviceToDevice || tasks.copy[i] == CopyKind::kPeer) continue;
    if (store.Text(tasks.name[i]).find("Pinned") != std::string_view::npos) continue;
    if (store.HostEnd(launch) >= store.TaskEnd(GpuTaskId(i))) waits[launch.index()] = true;
  }
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventKind kind = events.kind[row];
    if (kind != HostEventKind::kRuntimeCall && kind != HostEventKind::kDriverCall) continue;
    if (process.valid() && store.threads.process[events.thread[row].index()] != process) continue;
    const HostRoles roles = names.Roles(events.name[row]);
    if (roles.Has(HostRole::kSync) || (roles.Has(HostRole::kAsyncCopy) && waits[row])) {
      calls.emplace_back(row);
    }
  }
  std::stable_sort(calls.begin(), calls.end(), [&](HostEventId a, HostEventId b) {
    return events.start[a.index()] < events.start[b.index()];
  });
  return calls;
}

std::vector<PricedSync> PriceSyncs(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution, ProcessId process,
                                   const IntervalSet& gpu_busy, const IntervalSet& held) {
  const auto& events = store.host_events;
  if (store.gpu_tasks.rows() == 0) return {};
  std::vector<PricedSync> syncs;
  for (const HostEventId call : FindBlockingCalls(store, names, process))
    syncs.push_back({.call = call, .gpu_idle = {}});
  const std::vector<LaunchedStart> launched = FindLaunches(store, process);
  const std::vector<TimeNs> results = FindResults(store, process);
  const std::vector<Interval>& busy = gpu_busy.intervals();
  const IntervalSet stalls = LongStalls(held);
  /// Returns the GPU idle time that the call causes; empty if it causes none.
  const auto idle_behind = [&](HostEventId call) -> Interval {
    const TimeNs begin = events.start[call.index()], end = store.HostEnd(call);
    const auto next =
        std::lower_bound(launched.begin(), launched.end(), end,
                         [](const LaunchedStart& l, TimeNs t) { return l.launch < t; });
    if (next == launched.end()) return {};
    // The GPU becomes idle at the end of the last busy interval that begins before the call
    // returns. If it is idle before the call, the host was already late.
    const auto after = std::upper_bound(busy.begin(), busy.end(), end,
                                        [](TimeNs t, const Interval& i) { return t < i.start; });
    TimeNs dry = begin;
    if (after != busy.begin()) dry = std::max(dry, (after - 1)->end);
    // The gap ends with work that was launched before the call returned, so the host did not have
    // to launch anything.
    if (after != busy.end() && after->start < next->start) return {};
    TimeNs until = next->start;
    if (std::binary_search(results.begin(), results.end(), dry)) {
      // A CPU optimizer need not be an operator: DeepSpeed's is a function of its extension.
      const bool in_optimizer = attribution.Of(call).phase == Phase::kOptimizer;
      until =
          until - (in_optimizer ? std::max(next->launch - end, DurationNs(0))
                                : OperatorsWithin(store, attribution, events.thread[call.index()],
                                                  {end, next->launch}));
    }
    return {dry, std::min(until, dry + (end - begin))};
  };
  TimeNs priced(INT64_MIN);  // Earlier calls account for the idle time before this.
  for (PricedSync& sync : syncs) {
    Interval idle = idle_behind(sync.call);
    idle.start = std::max(idle.start, priced);
    if (names.Roles(events.name[sync.call.index()]).Has(HostRole::kSyncCopy)) {
      const Interval call = {std::max(events.start[sync.call.index()], priced),
                             store.HostEnd(sync.call)};
      const Interval stall = LongestWithin(stalls, call);
      sync.is_stall = stall.length() >= std::max(kLongStall, idle.length());
      if (sync.is_stall) idle = stall;
    }
    if (idle.end <= idle.start) continue;
    sync.gpu_idle = idle;
    priced = idle.end;
  }
  return syncs;
}

std::vector<SyncRow> SyncTable(const TraceStore& store, const Attribution& attribution,
                               const std::vector<PricedSync>& syncs,
                               std::optional<Interval> median_step,
                               std::span<const Interval> steps) {
  IntervalSet in_steps;
  for (const Interval& step : steps) in_steps.AppendInOrder(step);
  std::map<std::pair<std::string_view, std::string_view>, SyncRow> rows;
  for (const PricedSync& sync : syncs) {
    if (sync.gpu_idle.length().ns() == 0) continue;
    const HostContext& context = attribution.Of(sync.call);
    const HostEventId where = context.line.valid() ? context.line : context.op;
    SyncRow& row = rows[{
        store.Text(store.host_events.name[sync.call.index()]),
        where.valid() ? store.Text(store.host_events.name[where.index()]) : std::string_view()}];
    ++row.count;
    row.host += store.host_events.duration[sync.call.index()];
    row.gpu_idle += sync.gpu_idle.length();
    row.in_mean_step += in_steps.MeasureWithin(sync.gpu_idle);
    if (median_step)
      row.in_median_step += Interval{std::max(sync.gpu_idle.start, median_step->start),
                                     std::min(sync.gpu_idle.end, median_step->end)}
                                .length();
  }
  std::vector<SyncRow> out;
  for (auto& [key, row] : rows) {
    row.name = key.first;
    row.where = key.second;
    if (!steps.empty())
      row.in_mean_step =
          DurationNs(row.in_mean_step.ns() / static_cast<std::int64_t>(steps.size()));
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const SyncRow& a, const SyncRow& b) { return a.gpu_idle > b.gpu_idle; });
  return out;
}

}  // namespace headroom
