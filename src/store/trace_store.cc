#include "store/trace_store.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <charconv>
#include <functional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "store/args_text.h"
#include "store/natural_sort.h"

namespace headroom {
namespace {

/// Runs independent jobs on up to `workers` threads.
void RunAll(std::vector<std::function<void()>>& jobs, int workers) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i]();
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < workers && i < static_cast<int>(jobs.size()); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

/// Rows below this are not worth a thread.
constexpr std::size_t kParallelRows = 1 << 15;

/// Freezes all columns of a table in the given order.
template <typename Table>
void FreezeTable(Table& table, std::span<const std::uint32_t> order, int workers) {
  const std::size_t rows = table.rows();
  std::vector<std::function<void()>> jobs;
  table.ForEachColumn([&](const char*, auto& column) {
    // Columns that are computed later stay empty.
    if (column.size() != 0) jobs.push_back([&column, order] { column.Freeze(order); });
  });
  RunAll(jobs, rows < kParallelRows ? 1 : workers);
}

std::vector<std::uint32_t> Identity(std::size_t rows) {
  std::vector<std::uint32_t> order(rows);
  for (std::size_t i = 0; i < rows; ++i) order[i] = static_cast<std::uint32_t>(i);
  return order;
}

struct HostKey {
  TimeNs start;
  TimeNs end;
  std::uint32_t row;
};

/// Outer spans first: earlier start, then later end.
bool StartsBeforeOrEncloses(const HostKey& a, const HostKey& b) {
  return a.start != b.start ? a.start < b.start : a.end > b.end;
}

}  // namespace

void TraceStore::Freeze(int workers) {
  FreezeHostEvents(workers);
  FreezeGpuTasks(workers);
  FreezeTable(processes, {}, workers);
  FreezeTable(threads, {}, workers);
  FreezeTable(devices, {}, workers);
  FreezeTable(streams, {}, workers);
  FreezeTable(syncs, {}, workers);
  FreezeTable(flows, {}, workers);
  FreezeTable(counters, {}, workers);
  FreezeTable(memory_events, {}, workers);
  FreezeTable(instants, {}, workers);
  ResolveParents();
  ResolveLaunches();
  CollectSteps();
}

void TraceStore::FreezeHostEvents(int workers) {
  const std::size_t rows = host_events.rows();
  // Stable by thread first (counting), then by time within the thread.
  host_event_begin_.assign(threads.rows() + 1, 0);
  for (std::size_t row = 0; row < rows; ++row)
    ++host_event_begin_[host_events.thread.Pending(row).index() + 1];
  for (std::size_t t = 1; t < host_event_begin_.size(); ++t)
    host_event_begin_[t] += host_event_begin_[t - 1];

  std::vector<std::uint32_t> order(rows);
  std::vector<std::uint32_t> next(host_event_begin_.begin(), host_event_begin_.end() - 1);
  for (std::size_t row = 0; row < rows; ++row) {
    order[next[host_events.thread.Pending(row).index()]++] = static_cast<std::uint32_t>(row);
  }
  std::vector<HostKey> keys;
  for (std::size_t t = 0; t + 1 < host_event_begin_.size(); ++t) {
    const std::span<std::uint32_t> of_thread(order.data() + host_event_begin_[t],
                                             host_event_begin_[t + 1] - host_event_begin_[t]);
    keys.clear();
    keys.reserve(of_thread.size());
    for (std::uint32_t row : of_thread) {
      const TimeNs start = host_events.start.Pending(row);
      keys.push_back({start, start + host_events.duration.Pending(row), row});
    }
    NaturalStableSort(keys, StartsBeforeOrEncloses);
    for (std::size_t i = 0; i < keys.size(); ++i) of_thread[i] = keys[i].row;
  }
  keys = {};
  FreezeTable(host_events, order, workers);
}

void TraceStore::FreezeGpuTasks(int workers) {
  const std::size_t rows = gpu_tasks.rows();
  std::vector<std::uint32_t> order = Identity(rows);
  NaturalStableSort(order, [&](std::uint32_t a, std::uint32_t b) {
    const TimeNs start_a = gpu_tasks.start.Pending(a);
    const TimeNs start_b = gpu_tasks.start.Pending(b);
    return start_a != start_b ? start_a < start_b
                              : gpu_tasks.stream.Pending(a) < gpu_tasks.stream.Pending(b);
  });
  FreezeTable(gpu_tasks, order, workers);

  std::vector<std::uint32_t> position(rows);
  for (std::size_t i = 0; i < rows; ++i) position[order[i]] = static_cast<std::uint32_t>(i);
  FreezeTable(collectives, {}, 1);
  for (std::size_t i = 0; i < collectives.rows(); ++i) {
    GpuTaskId& task = collectives.task.Mutable(i);
    task = GpuTaskId(position[task.index()]);
  }

  stream_begin_.assign(streams.rows() + 1, 0);
  for (StreamId stream : gpu_tasks.stream.values()) ++stream_begin_[stream.index() + 1];
  for (std::size_t s = 1; s < stream_begin_.size(); ++s) stream_begin_[s] += stream_begin_[s - 1];
  stream_tasks_.resize(rows);
  std::vector<std::uint32_t> next(stream_begin_.begin(), stream_begin_.end() - 1);
  for (std::size_t i = 0; i < rows; ++i) {
    stream_tasks_[next[gpu_tasks.stream[i].index()]++] = GpuTaskId(i);
  }
}

void TraceStore::ResolveParents() {
  const std::size_t rows = host_events.rows();
  PageBuffer<HostEventId> parents(rows);
  std::vector<std::uint32_t> open;
  std::int64_t overlapping = 0;
  for (std::size_t t = 0; t + 1 < host_event_begin_.size(); ++t) {
    open.clear();
    for (std::uint32_t row = host_event_begin_[t]; row < host_event_begin_[t + 1]; ++row) {
      const TimeNs start = host_events.start[row];
      const TimeNs end = start + host_events.duration[row];
      while (!open.empty() && HostEnd(HostEventId(open.back())) <= start && open.back() != row) {
        // An empty span at the very end of its parent still belongs to it.
        if (end == start && HostEnd(HostEventId(open.back())) == start) break;
        open.pop_back();
      }
      // The innermost open span that contains this one; those in between overlap it.
      std::size_t depth = open.size();
      while (depth > 0 && HostEnd(HostEventId(open[depth - 1])) < end) --depth;
      if (depth < open.size()) ++overlapping;
      parents.data()[row] = depth == 0 ? HostEventId::None() : HostEventId(open[depth - 1]);
      open.push_back(row);
    }
  }
  host_events.parent.Adopt(std::move(parents));
  if (overlapping > 0) log.Add(ImportIssue::kOverlapping, -1, {}, overlapping);
}

void TraceStore::ResolveLaunches() {
  // Correlation ids are nearly dense, so a direct table is small; a damaged one may be anything.
  struct Call {
    std::int64_t correlation;
    std::uint32_t row;
  };
  std::vector<Call> calls;
  for (std::size_t row = 0; row < host_events.rows(); ++row) {
    const HostEventKind kind = host_events.kind[row];
    if (kind != HostEventKind::kRuntimeCall && kind != HostEventKind::kDriverCall) continue;
    if (host_events.correlation[row] == kUnknown) continue;
    calls.push_back({host_events.correlation[row], static_cast<std::uint32_t>(row)});
  }
  NaturalStableSort(calls,
                    [](const Call& a, const Call& b) { return a.correlation < b.correlation; });

  const std::size_t tasks = gpu_tasks.rows();
  PageBuffer<HostEventId> launches(tasks);
  std::size_t guess = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    launches.data()[i] = HostEventId::None();
    const std::int64_t correlation = gpu_tasks.correlation[i];
    if (correlation == kUnknown || calls.empty()) continue;
    // Tasks run nearly in order of launch: look near the last hit before searching.
    std::size_t at = guess;
    for (int step = 0; step < 8 && at < calls.size() && calls[at].correlation < correlation; ++step)
      ++at;
    const bool found_near = at < calls.size() && calls[at].correlation == correlation &&
                            (at == 0 || calls[at - 1].correlation < correlation);
    if (!found_near) {
      at = static_cast<std::size_t>(std::lower_bound(calls.begin(), calls.end(), correlation,
                                                     [](const Call& call, std::int64_t wanted) {
                                                       return call.correlation < wanted;
                                                     }) -
                                    calls.begin());
    }
    if (at == calls.size() || calls[at].correlation != correlation) continue;
    guess = at;
    // Ids can repeat (several processes in one file, a driver call inside a runtime call): the
    // launch is the earliest call among those that began last before the task.
    std::uint32_t best = calls[at].row;
    for (std::size_t k = at + 1; k < calls.size() && calls[k].correlation == correlation; ++k) {
      const TimeNs start = host_events.start[calls[k].row];
      const bool nested = start < HostEnd(HostEventId(best)) && start >= host_events.start[best];
      if (!nested && start > host_events.start[best] && start <= gpu_tasks.start[i])
        best = calls[k].row;
    }
    launches.data()[i] = HostEventId(best);
  }
  gpu_tasks.launch.Adopt(std::move(launches));
}

void TraceStore::CollectSteps() {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  std::unordered_map<StringId, std::int64_t> step_names;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string_view name = strings.Get(StringId(i));
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t index = -1;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), index);
    step_names.emplace(StringId(i), index);
  }
  if (!step_names.empty()) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < host_events.rows(); ++row) {
      const HostEventKind kind = host_events.kind[row];
      if (kind != HostEventKind::kAnnotation && kind != HostEventKind::kOperator) continue;
      if (step_names.contains(host_events.name[row]))
        rows.push_back(static_cast<std::uint32_t>(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return host_events.start[a] < host_events.start[b];
    });
    for (std::uint32_t row : rows) {
      steps.index.Append(step_names.at(host_events.name[row]));
      steps.start.Append(host_events.start[row]);
      steps.duration.Append(host_events.duration[row]);
      steps.thread.Append(host_events.thread[row]);
      steps.event.Append(HostEventId(row));
    }
  }
  FreezeTable(steps, {}, 1);
}

TraceStore::RowRange TraceStore::HostEventsOf(ThreadId thread) const {
  return {host_event_begin_[thread.index()], host_event_begin_[thread.index() + 1]};
}

std::span<const GpuTaskId> TraceStore::TasksOf(StreamId stream) const {
  const std::uint32_t first = stream_begin_[stream.index()];
  return {stream_tasks_.data() + first, stream_begin_[stream.index() + 1] - first};
}

std::string_view TraceStore::Arg(StringId args, std::string_view key) const {
  return FindMember(Text(args), key);
}

std::size_t TraceStore::MemoryBytes() const {
  std::size_t bytes = strings.MemoryBytes();
  const auto add = [&](const char*, const auto& column) { bytes += column.MemoryBytes(); };
#define T(Name, member, sentence) member.ForEachColumn(add);
  HEADROOM_TABLES(T)
#undef T
  bytes += (host_event_begin_.size() + stream_begin_.size()) * sizeof(std::uint32_t);
  return bytes + stream_tasks_.size() * sizeof(GpuTaskId);
}

}  // namespace headroom
