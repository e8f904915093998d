#include "store/launches.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/large_vector.h"
#include "store/natural_sort.h"
#include "store/trace_store.h"

namespace headroom {
namespace {

/// Position of a process among all processes, sorted by pid string. Unlike a row id, it does not
/// depend on how the file was split for reading.
using ProcessRank = std::uint32_t;
constexpr ProcessRank kNobody = UINT32_MAX;

struct Call {
  std::int64_t correlation;
  TimeNs start;
  std::uint32_t row;
  ProcessRank process;
};

bool ByIdAndStart(const Call& a, const Call& b) {
  return a.correlation != b.correlation ? a.correlation < b.correlation : a.start < b.start;
}

bool ByIdProcessAndStart(const Call& a, const Call& b) {
  return std::tie(a.correlation, a.process, a.start) < std::tie(b.correlation, b.process, b.start);
}

/// Returns the threads sorted by the pid string of their process, then by their tid string. Unlike
/// the order of row ids, this order does not depend on how the file was split for reading.
std::vector<ThreadId> ThreadsInOrder(const TraceStore& store) {
  const auto texts = [&](ThreadId thread) {
    const ProcessId process = store.threads.process[thread.index()];
    return std::pair(store.Text(store.processes.pid[process.index()]),
                     store.Text(store.threads.tid[thread.index()]));
  };
  std::vector<ThreadId> order;
  for (std::size_t row = 0; row < store.threads.rows(); ++row) order.emplace_back(row);
  std::sort(order.begin(), order.end(),
            [&](ThreadId a, ThreadId b) { return texts(a) < texts(b); });
  return order;
}

/// Returns the calls that can be launches, by id, process and start. Drops a driver call inside a
/// runtime call, which carries the same id: the outer call is the launch.
LargeVector<Call> OutermostCalls(const TraceStore& store) {
  const auto& rows = store.host_events;
  const auto can_launch = [&](std::size_t row) {
    const HostEventKind kind = rows.kind[row];
    return (kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall) &&
           rows.correlation[row] != kUnknown;
  };
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) count += can_launch(row) ? 1 : 0;
  LargeVector<Call> calls;
  calls.reserve(count);
  ProcessRank rank = 0;
  ProcessId previous_process;
  for (const ThreadId thread : ThreadsInOrder(store)) {
    const ProcessId process = store.threads.process[thread.index()];
    if (process != std::exchange(previous_process, process)) ++rank;
    const TraceStore::RowRange range = store.HostEventsOf(thread);
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if (!can_launch(row)) continue;
      calls.push_back({rows.correlation[row], rows.start[row], row, rank});
    }
  }
  NaturalStableSort(calls, ByIdProcessAndStart);
  const auto inside_previous = [&](const Call& previous, const Call& call) {
    return call.correlation == previous.correlation &&
           rows.thread[call.row] == rows.thread[previous.row] &&
           call.start < store.HostEnd(HostEventId(previous.row));
  };
  std::size_t kept = 0;
  for (const Call& call : calls) {
    if (kept == 0 || !inside_previous(calls[kept - 1], call)) calls[kept++] = call;
  }
  calls.resize(kept);
  return calls;
}

/// An index of calls by id and start.
class CallIndex {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  explicit CallIndex(LargeVector<Call> calls) : calls_(std::move(calls)) {
    NaturalStableSort(calls_, ByIdAndStart);
  }

  const Call& operator[](std::size_t at) const { return calls_[at]; }

  /// Returns the first call with an id, or kNone. Looks near the last hit before it searches,
  /// because tasks run nearly in launch order.
  std::size_t First(std::int64_t correlation) {
    std::size_t at = guess_;
    for (int step = 0; step < 8 && at < calls_.size() && calls_[at].correlation < correlation;
         ++step)
      ++at;
    const bool found_near = at < calls_.size() && calls_[at].correlation == correlation &&
                            (at == 0 || calls_[at - 1].correlation < correlation);
    if (!found_near) {
      const auto before = [](const Call& call, std::int64_t id) { return call.correlation < id; };
      at = static_cast<std::size_t>(
          std::lower_bound(calls_.begin(), calls_.end(), correlation, before) - calls_.begin());
    }
    if (at == calls_.size() || calls_[at].correlation != correlation) return kNone;
    return guess_ = at;
  }

  /// Returns true if the next call has the same id.
  bool Repeats(std::size_t at) const {
    return at + 1 < calls_.size() && calls_[at + 1].correlation == calls_[at].correlation;
  }

  /// Returns the last call with the id of `first` that began before `time`, or `first` if all began
  /// later.
  std::size_t LastBefore(std::size_t first, TimeNs time) const {
    if (!Repeats(first)) return first;
    const Call wanted = {calls_[first].correlation, time, 0, kNobody};
    const auto after = std::upper_bound(calls_.begin() + static_cast<std::ptrdiff_t>(first),
                                        calls_.end(), wanted, ByIdAndStart);
    return std::max(first + 1, static_cast<std::size_t>(after - calls_.begin())) - 1;
  }

 private:
  LargeVector<Call> calls_;
  std::size_t guess_ = 0;
};

/// Counts each process's launches per stream or device and derives the owner.
template <typename Id>
class Ownership {
 public:
  void Count(Id id, ProcessRank process) {
    ++votes_[{id, process}];
    ++totals_[id];
  }
  /// Determines the owners. Call once, after the last Count().
  void Settle() {
    for (const auto& [key, votes] : votes_) {
      if (votes * 10 >= totals_.at(key.first) * 9) owners_[key.first] = key.second;
    }
  }
  ProcessRank OwnerOf(Id id) const {
    const auto it = owners_.find(id);
    return it == owners_.end() ? kNobody : it->second;
  }

 private:
  std::map<std::pair<Id, ProcessRank>, std::int64_t> votes_;
  std::map<Id, std::int64_t> totals_;
  std::map<Id, ProcessRank> owners_;
};

/// Chooses between calls of several processes that share an id.
class ProcessChoice {
 public:
  /// Takes `calls` in order of id, process and start.
  ProcessChoice(const TraceStore& store, const LargeVector<Call>& calls, CallIndex& index)
      : store_(store), calls_(calls) {
    FindRuns(index);
    const auto& tasks = store.gpu_tasks;
    for (std::size_t task = 0; task < tasks.rows(); ++task) {
      if (tasks.correlation[task] == kUnknown) continue;
      const std::size_t first = index.First(tasks.correlation[task]);
      if (first == CallIndex::kNone || index[first].start > tasks.start[task]) continue;
      const std::size_t last = index.LastBefore(first, tasks.start[task]);
      if (run_begins_[last] > first) continue;  // Calls of several processes began before the task.
      streams_.Count(tasks.stream[task], index[last].process);
      devices_.Count(store.DeviceOf(GpuTaskId(task)), index[last].process);
    }
    streams_.Settle();
    devices_.Settle();
  }

  /// Returns the row of the owner's call that launched a task. Returns none if there is no owner,
  /// or if the owner has no call with the task's id.
  HostEventId Launch(std::size_t task) const {
    ProcessRank owner = streams_.OwnerOf(store_.gpu_tasks.stream[task]);
    if (owner == kNobody) owner = devices_.OwnerOf(store_.DeviceOf(GpuTaskId(task)));
    if (owner == kNobody) return HostEventId::None();
    Call wanted = {store_.gpu_tasks.correlation[task], TimeNs(INT64_MIN), 0, owner};
    const auto first = std::lower_bound(calls_.begin(), calls_.end(), wanted, ByIdProcessAndStart);
    if (first == calls_.end() || first->correlation != wanted.correlation ||
        first->process != owner) {
      return HostEventId::None();
    }
    wanted.start = store_.gpu_tasks.start[task];
    const auto after = std::upper_bound(first, calls_.end(), wanted, ByIdProcessAndStart);
    return HostEventId(after == first ? first->row : std::prev(after)->row);
  }

 private:
  /// Stores for each call of the index where its run of calls with equal id and process begins.
  void FindRuns(const CallIndex& index) {
    run_begins_.resize(calls_.size());
    for (std::size_t i = 1; i < calls_.size(); ++i) {
      const bool same = index[i].correlation == index[i - 1].correlation &&
                        index[i].process == index[i - 1].process;
      run_begins_[i] = same ? run_begins_[i - 1] : i;
    }
  }

  const TraceStore& store_;
  const LargeVector<Call>& calls_;
  std::vector<std::size_t> run_begins_;
  Ownership<StreamId> streams_;
  Ownership<DeviceId> devices_;
};

bool OfSeveralProcesses(const LargeVector<Call>& calls) {
  return std::any_of(calls.begin(), calls.end(),
                     [&](const Call& call) { return call.process != calls.front().process; });
}

}  // namespace

PageBuffer<HostEventId> JoinLaunches(const TraceStore& store) {
  const auto& tasks = store.gpu_tasks;
  LargeVector<Call> calls = OutermostCalls(store);
  LargeVector<Call> by_process;  // Filled only for calls of several processes.
  if (OfSeveralProcesses(calls)) by_process = calls;
  CallIndex index(std::move(calls));
  std::optional<ProcessChoice> choice;
  if (!by_process.empty()) choice.emplace(store, by_process, index);

  PageBuffer<HostEventId> launches(tasks.rows());
  for (std::size_t task = 0; task < tasks.rows(); ++task) {
    HostEventId& launch = launches.data()[task] = HostEventId::None();
    if (tasks.correlation[task] == kUnknown) continue;
    const std::size_t first = index.First(tasks.correlation[task]);
    if (first == CallIndex::kNone) continue;
    if (choice && index.Repeats(first)) launch = choice->Launch(task);
    if (launch.valid()) continue;
    launch = HostEventId(index[index.LastBefore(first, tasks.start[task])].row);
  }
  return launches;
}

}  // namespace headroom
