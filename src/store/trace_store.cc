#include "store/trace_store.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <charconv>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/large_vector.h"
#include "store/args_text.h"
#include "store/launches.h"
#include "store/natural_sort.h"

namespace headroom {
namespace {

/// Runs independent jobs on up to `workers` threads. Throws std::bad_alloc after all jobs have
/// stopped, if a job threw it.
void RunAll(std::vector<std::function<void()>>& jobs, int workers) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> out_of_memory = false;
  const auto work = [&]() noexcept {
    try {
      for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i]();
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < workers && i < static_cast<int>(jobs.size()); ++i)
      helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The system grants no more threads, so the existing ones do the work.
  } catch (const std::bad_alloc&) {
    // The exception must not escape while threads run. If memory remains short, a job throws again.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (out_of_memory) throw std::bad_alloc();
}

/// Below this number of rows, a thread costs more than it saves.
constexpr std::size_t kParallelRows = 1 << 15;

/// Returns true if an order leaves the rows as they were appended.
bool IsAsAppended(std::span<const std::uint32_t> order, std::size_t rows) {
  if (order.size() != rows) return false;
  std::size_t i = 0;
  while (i < rows && order[i] == i) ++i;
  return i == rows;
}

/// Calls `freeze` for each column that readers append to. Computed columns follow later.
template <typename Table, typename FreezeColumn>
void FreezeColumns(Table& table, int workers, FreezeColumn freeze) {
  const std::size_t rows = table.rows();
  std::vector<std::function<void()>> jobs;
  // Starts with the widest columns, so that their freed pages suffice for the later ones.
  for (const std::size_t width : {8, 4, 2, 1}) {
    table.ForEachReadColumn([&](const char*, auto& column) {
      assert(column.size() == rows && "every reader sets every column");
      using Value = typename std::remove_cvref_t<decltype(column)>::value_type;
      static_assert(std::has_single_bit(sizeof(Value)) && sizeof(Value) <= 8);
      if (sizeof(Value) == width) jobs.push_back([&column, freeze] { freeze(column); });
    });
  }
  RunAll(jobs, rows < kParallelRows ? 1 : workers);
}

/// Freezes a table in the order of appending.
template <typename Table>
void FreezeTable(Table& table, int workers) {
  FreezeColumns(table, workers, [](auto& column) { column.Freeze(); });
}

/// Freezes a table in the given order.
template <typename Table>
void FreezeTable(Table& table, int workers, std::span<const std::uint32_t> order) {
  if (IsAsAppended(order, table.rows())) return FreezeTable(table, workers);
  PagePool pool;
  FreezeColumns(table, workers, [order, &pool](auto& column) { column.Freeze(order, pool); });
}

LargeVector<std::uint32_t> Identity(std::size_t rows) {
  LargeVector<std::uint32_t> order(rows);
  for (std::size_t i = 0; i < rows; ++i) order[i] = static_cast<std::uint32_t>(i);
  return order;
}

struct HostKey {
  TimeNs start;
  TimeNs end;
  std::uint32_t row;
  HostEventKind kind;
};

/// Identifies copies of one record among events with equal track, start and length. At least one of
/// the profiler's ids must be present, because two short events without ids may be identical.
struct HostIdentity {
  StringId name;
  HostEventKind kind;
  std::int64_t correlation, external_id, sequence;
  std::int32_t python_id, event_index;
  auto operator<=>(const HostIdentity&) const = default;

  bool has_id() const {
    return correlation != kUnknown || external_id != kUnknown || sequence != kUnknown ||
           python_id != kUnknown32 || event_index != kUnknown32;
  }
};

HostIdentity IdentityOf(const HostEventColumns<Column>& rows, std::uint32_t row) {
  return {rows.name.Pending(row),        rows.kind.Pending(row),     rows.correlation.Pending(row),
          rows.external_id.Pending(row), rows.sequence.Pending(row), rows.python_id.Pending(row),
          rows.event_index.Pending(row)};
}

/// Two tasks cannot run on one stream at the same time, so few fields suffice. Tasks of length 0
/// never count as copies: identical tasks can follow each other within the clock's resolution,
/// because the nodes of a graph share one correlation id.
struct TaskIdentity {
  StreamId stream;
  DurationNs duration;
  StringId name;
  GpuTaskKind kind;
  std::int64_t correlation, graph_node;
  auto operator<=>(const TaskIdentity&) const = default;

  bool has_id() const { return correlation != kUnknown && duration > DurationNs(0); }
};

TaskIdentity IdentityOf(const GpuTaskColumns<Column>& rows, std::uint32_t row) {
  return {rows.stream.Pending(row), rows.duration.Pending(row),    rows.name.Pending(row),
          rows.kind.Pending(row),   rows.correlation.Pending(row), rows.graph_node.Pending(row)};
}

/// Drops copies of earlier rows among rows[first, last), which have equal times. Moves the other
/// rows to rows[to] onwards, in order. Returns the end of the moved rows.
template <typename Table>
std::size_t MoveUnique(const Table& table, LargeVector<std::uint32_t>& rows, std::size_t first,
                       std::size_t last, std::size_t to) {
  using Identity = decltype(IdentityOf(table, 0));
  if (last - first == 1) {
    rows[to] = rows[first];
    return to + 1;
  }
  std::vector<std::pair<Identity, std::size_t>> seen;
  for (std::size_t i = first; i < last; ++i) seen.emplace_back(IdentityOf(table, rows[i]), i);
  std::sort(seen.begin(), seen.end());
  std::vector<bool> copy(last - first);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    copy[seen[i].second - first] = seen[i].first.has_id() && seen[i].first == seen[i - 1].first;
  }
  for (std::size_t i = first; i < last; ++i) {
    if (!copy[i - first]) rows[to++] = rows[i];
  }
  return to;
}

/// If all timestamps are multiples of this, the exporter truncated them (PyTorch before 2.2).
constexpr DurationNs kCoarseStep(1000);

/// Orders outer spans first: by earlier start, then later end, then kind.
bool StartsBeforeOrEncloses(const HostKey& a, const HostKey& b) {
  if (a.start != b.start) return a.start < b.start;
  return a.end != b.end ? a.end > b.end : a.kind < b.kind;
}

}  // namespace

void TraceStore::Freeze(int workers) {
  FreezeHostEvents(workers);
  FreezeGpuTasks(workers);
  FreezeTable(processes, workers);
  FreezeTable(threads, workers);
  FreezeTable(devices, workers);
  FreezeTable(streams, workers);
  FreezeTable(syncs, workers);
  FreezeTable(flows, workers);
  FreezeTable(counters, workers);
  FreezeTable(memory_events, workers);
  FreezeTable(instants, workers);
  ResolveParents();
  gpu_tasks.launch.Adopt(JoinLaunches(*this));
  CollectSteps();
}

void TraceStore::FreezeHostEvents(int workers) {
  const std::size_t rows = host_events.rows();
  // Sorts stably: first by thread (counting sort), then by time within the thread.
  host_event_begin_.assign(threads.rows() + 1, 0);
  for (std::size_t row = 0; row < rows; ++row)
    ++host_event_begin_[host_events.thread.Pending(row).index() + 1];
  for (std::size_t t = 1; t < host_event_begin_.size(); ++t)
    host_event_begin_[t] += host_event_begin_[t - 1];

  LargeVector<std::uint32_t> order(rows);
  std::vector<std::uint32_t> next(host_event_begin_.begin(), host_event_begin_.end() - 1);
  for (std::size_t row = 0; row < rows; ++row) {
    order[next[host_events.thread.Pending(row).index()]++] = static_cast<std::uint32_t>(row);
  }
  const auto key_of = [&](std::uint32_t row) {
    const TimeNs start = host_events.start.Pending(row);
    return HostKey{start, start + host_events.duration.Pending(row), row,
                   host_events.kind.Pending(row)};
  };
  LargeVector<HostKey> keys;
  std::size_t kept = 0;
  for (std::size_t t = 0; t + 1 < host_event_begin_.size(); ++t) {
    const std::size_t first = host_event_begin_[t];
    const std::span<std::uint32_t> of_thread(order.data() + first,
                                             host_event_begin_[t + 1] - first);
    host_event_begin_[t] = static_cast<std::uint32_t>(kept);
    // Many readers already append the rows in order, with no two at the same time.
    const auto follows = [&](std::uint32_t row, std::uint32_t next_row) {
      const HostKey a = key_of(row), b = key_of(next_row);
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    };
    if (std::adjacent_find(of_thread.begin(), of_thread.end(), std::not_fn(follows)) ==
        of_thread.end()) {
      if (kept < first) std::copy(of_thread.begin(), of_thread.end(), order.data() + kept);
      kept += of_thread.size();
      continue;
    }
    keys.clear();
    keys.reserve(of_thread.size());
    for (std::uint32_t row : of_thread) keys.push_back(key_of(row));
    NaturalStableSort(keys, StartsBeforeOrEncloses);
    for (std::size_t i = 0; i < keys.size(); ++i) of_thread[i] = keys[i].row;
    for (std::size_t i = 0, next_i; i < keys.size(); i = next_i) {
      for (next_i = i + 1; next_i < keys.size(); ++next_i) {
        if (keys[next_i].start != keys[i].start || keys[next_i].end != keys[i].end) break;
      }
      kept = MoveUnique(host_events, order, first + i, first + next_i, kept);
    }
  }
  keys = {};
  host_event_begin_.back() = static_cast<std::uint32_t>(kept);
  if (kept < rows)
    log.Add(ImportIssue::kDuplicateEvent, -1, {}, static_cast<std::int64_t>(rows - kept));
  order.resize(kept);
  FreezeTable(host_events, workers, std::span<const std::uint32_t>(order));
}

void TraceStore::FreezeGpuTasks(int workers) {
  const std::size_t rows = gpu_tasks.rows();
  LargeVector<std::uint32_t> order = Identity(rows);
  NaturalStableSort(order, [&](std::uint32_t a, std::uint32_t b) {
    const TimeNs start_a = gpu_tasks.start.Pending(a);
    const TimeNs start_b = gpu_tasks.start.Pending(b);
    return start_a != start_b ? start_a < start_b
                              : gpu_tasks.stream.Pending(a) < gpu_tasks.stream.Pending(b);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0, next_i; i < rows; i = next_i) {
    for (next_i = i + 1; next_i < rows; ++next_i) {
      if (gpu_tasks.start.Pending(order[next_i]) != gpu_tasks.start.Pending(order[i])) break;
    }
    kept = MoveUnique(gpu_tasks, order, i, next_i, kept);
  }
  if (kept < rows)
    log.Add(ImportIssue::kDuplicateEvent, -1, {}, static_cast<std::int64_t>(rows - kept));
  order.resize(kept);
  FreezeTable(gpu_tasks, workers, std::span<const std::uint32_t>(order));

  std::vector<GpuTaskId> position(rows);  // Invalid for a dropped copy.
  for (std::size_t i = 0; i < kept; ++i) position[order[i]] = GpuTaskId(i);
  std::vector<std::uint32_t> with_task;
  for (std::size_t i = 0; i < collectives.rows(); ++i) {
    GpuTaskId& task = collectives.task.MutablePending(i);
    task = position[task.index()];
    if (task.valid()) with_task.push_back(static_cast<std::uint32_t>(i));
  }
  FreezeTable(collectives, 1, std::span<const std::uint32_t>(with_task));

  stream_begin_.assign(streams.rows() + 1, 0);
  for (StreamId stream : gpu_tasks.stream.values()) ++stream_begin_[stream.index() + 1];
  for (std::size_t s = 1; s < stream_begin_.size(); ++s) stream_begin_[s] += stream_begin_[s - 1];
  stream_tasks_.resize(kept);
  std::vector<std::uint32_t> next(stream_begin_.begin(), stream_begin_.end() - 1);
  for (std::size_t i = 0; i < kept; ++i) {
    stream_tasks_[next[gpu_tasks.stream[i].index()]++] = GpuTaskId(i);
  }
}

void TraceStore::FindHostTolerance() {
  const auto step_of = [](const auto& times) {
    const bool whole = std::all_of(times.begin(), times.end(),
                                   [](auto time) { return time.ns() % kCoarseStep.ns() == 0; });
    return whole ? kCoarseStep : DurationNs(0);
  };
  host_tolerance_ = step_of(host_events.start.values()) + step_of(host_events.duration.values());
}

void TraceStore::ResolveParents() {
  FindHostTolerance();
  const std::size_t rows = host_events.rows();
  PageBuffer<HostEventId> parents(rows);
  struct Open {
    std::uint32_t row;
    TimeNs end;  ///< At most the parent's end, so that tolerances do not accumulate.
  };
  std::vector<Open> open;
  std::int64_t overlapping = 0;
  for (std::size_t t = 0; t + 1 < host_event_begin_.size(); ++t) {
    open.clear();
    for (std::uint32_t row = host_event_begin_[t]; row < host_event_begin_[t + 1]; ++row) {
      const TimeNs start = host_events.start[row];
      const TimeNs end = start + host_events.duration[row];
      while (!open.empty() && open.back().end <= start) {
        // An empty span at the exact end of its parent still belongs to it.
        if (end == start && open.back().end == start) break;
        open.pop_back();
      }
      // Finds the innermost open span that contains this one. Open spans inside the found one
      // overlap this span.
      std::size_t depth = open.size();
      while (depth > 0 && open[depth - 1].end + host_tolerance_ < end) --depth;
      if (depth < open.size() && open[depth].end > start + host_tolerance_) ++overlapping;
      // Each later event that a removed span could contain is also inside this span, which is
      // innermost.
      open.resize(depth);
      parents.data()[row] = depth == 0 ? HostEventId::None() : HostEventId(open[depth - 1].row);
      open.push_back({row, depth == 0 ? end : std::min(end, open[depth - 1].end)});
    }
  }
  host_events.parent.Adopt(std::move(parents));
  if (overlapping > 0) log.Add(ImportIssue::kOverlapping, -1, {}, overlapping);
}

std::vector<std::uint32_t> TraceStore::InstantsNamed(std::string_view name) const {
  std::vector<std::uint32_t> rows;
  const StringId id = strings.Find(name);
  for (std::size_t row = 0; id.valid() && row < instants.rows(); ++row) {
    if (instants.name[row] == id) rows.push_back(static_cast<std::uint32_t>(row));
  }
  return rows;
}

void TraceStore::CollectSteps() {
  // PyTorch's step names suffice alone. Names in our recordings and numbered ranges ("step 12")
  // also require the category.
  constexpr std::string_view kPyTorch = "ProfilerStep#";
  constexpr std::string_view kRecorded = "step#";
  const StringId step_category = strings.Find("step");
  std::unordered_map<StringId, std::int64_t> step_names;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string_view name = strings.Get(StringId(i));
    const bool has_number = !name.empty() && IsDigit(name.back());
    const bool is_recorded = step_category.valid() && (name.starts_with(kRecorded) || has_number);
    if (!is_recorded && !name.starts_with(kPyTorch)) continue;
    std::int64_t index = -1;
    const std::size_t number = name.find('#') != std::string_view::npos
                                   ? name.find('#') + 1
                                   : name.find_last_not_of("0123456789") + 1;
    std::from_chars(name.data() + number, name.data() + name.size(), index);
    step_names.emplace(StringId(i), index);
  }
  if (!step_names.empty()) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < host_events.rows(); ++row) {
      const HostEventKind kind = host_events.kind[row];
      if (kind != HostEventKind::kAnnotation && kind != HostEventKind::kOperator) continue;
      if (!step_names.contains(host_events.name[row])) continue;
      if (strings.Get(host_events.name[row]).starts_with(kPyTorch) ||
          host_events.category[row] == step_category) {
        rows.push_back(static_cast<std::uint32_t>(row));
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return host_events.start[a] < host_events.start[b];
    });
    const std::vector<std::uint32_t> empty = InstantsNamed("step.empty");
    for (std::uint32_t row : rows) {
      const bool is_empty = std::any_of(empty.begin(), empty.end(), [&](std::uint32_t mark) {
        return instants.thread[mark] == host_events.thread[row] &&
               instants.time[mark] >= host_events.start[row] &&
               instants.time[mark] <= host_events.start[row] + host_events.duration[row];
      });
      if (is_empty) continue;
      const std::size_t step = AppendUnknown(steps);
      steps.index.MutablePending(step) = step_names.at(host_events.name[row]);
      steps.start.MutablePending(step) = host_events.start[row];
      steps.duration.MutablePending(step) = host_events.duration[row];
      steps.thread.MutablePending(step) = host_events.thread[row];
      steps.event.MutablePending(step) = HostEventId(row);
    }
  }
  FreezeTable(steps, 1);
}

namespace {

/// Appends a row of unknown values to a frozen table.
template <typename Table>
std::size_t ExtendUnknown(Table& table) {
  const std::size_t row = table.rows();
  table.ForEachColumn([](const char*, auto& column) {
    const auto unknown = UnknownValue<typename std::remove_cvref_t<decltype(column)>::value_type>();
    column.Extend(std::span(&unknown, 1));
  });
  return row;
}

}  // namespace

void TraceStore::AddReplayed(ReplayedEvents replayed) {
  const ProcessId process(ExtendUnknown(processes));
  processes.pid.Mutable(process.index()) = strings.Intern("");
  processes.name.Mutable(process.index()) = strings.Intern("captured graphs");
  replay_thread_ = ThreadId(ExtendUnknown(threads));
  threads.process.Mutable(replay_thread_.index()) = process;
  threads.tid.Mutable(replay_thread_.index()) = strings.Intern("");
  threads.name.Mutable(replay_thread_.index()) = strings.Intern("captured graphs");

  const std::size_t first = host_events.rows();
  const auto moved = [first](HostEventId id) {
    return id.valid() ? HostEventId(first + id.index()) : id;
  };
  PageBuffer<HostEventId> parents(replayed.parents.size());
  for (std::size_t i = 0; i < replayed.parents.size(); ++i)
    parents.data()[i] = moved(replayed.parents[i]);
  replayed.events.parent.Adopt(std::move(parents));
  replayed.events.ForEachReadColumn([](const char*, auto& column) { column.Freeze(); });
  for (std::size_t row = 0; row < replayed.events.rows(); ++row) {
    replayed.events.thread.Mutable(row) = replay_thread_;
    replayed.events.correlation.Mutable(row) = kUnknown;  // Nothing may join to a copy.
    replayed.events.external_id.Mutable(row) = kUnknown;
  }
  host_events.ForEachColumnPair(
      replayed.events, [](auto& into, const auto& column) { into.Extend(column.values()); });
  host_event_begin_.push_back(static_cast<std::uint32_t>(host_events.rows()));
  ran_ = std::move(replayed.ran);
  for (HostEventId& event : ran_) event = moved(event);
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
  return bytes + stream_tasks_.size() * sizeof(GpuTaskId) + ran_.size() * sizeof(HostEventId);
}

}  // namespace headroom
