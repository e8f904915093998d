#include "export/trace_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "store/carried_damage.h"
#include "store/row_copier.h"

namespace headroom {
namespace {

bool IsNamedAsRank(std::string_view process, std::int64_t rank) {
  const std::string prefix = fmt::format("rank {}", rank);
  if (!process.starts_with(prefix)) return false;
  process.remove_prefix(prefix.size());
  return process.empty() || process.starts_with(':') || process.starts_with(" on ");
}

class PartMaker {
 public:
  PartMaker(const TraceStore& store, const PartChoice& choice)
      : store_(store),
        choice_(choice),
        hosts_(store.host_events.rows()),
        tasks_(store.gpu_tasks.rows()),
        is_step_(store.host_events.rows()),
        of_rank_(store.processes.rows(), !choice.rank) {
    for (std::size_t row = 0; choice.rank && row < of_rank_.size(); ++row)
      of_rank_[row] = IsNamedAsRank(store.Text(store.processes.name[row]), *choice.rank);
    for (const HostEventId event : store.steps.event.values()) {
      if (event.valid()) is_step_[event.index()] = true;
    }
  }

  std::unique_ptr<TraceStore> Make() {
    ChooseSpans();
    ChooseQueue();
    JoinLaunches();
    ChooseArrows();
    return Copied();
  }

 private:
  bool Overlaps(TimeNs start, DurationNs duration) const {
    if (!choice_.window) return true;
    const TimeNs end = start + duration;
    return start < choice_.window->end &&
           (end > choice_.window->start || start >= choice_.window->start);
  }
  bool Contains(TimeNs time) const { return Overlaps(time, DurationNs(0)); }
  bool IsOfRank(ThreadId thread) const {
    return !thread.valid() || of_rank_[store_.threads.process[thread.index()].index()];
  }
  bool HostOverlaps(std::size_t row) const {
    return Overlaps(store_.host_events.start[row], store_.host_events.duration[row]);
  }

  void ChooseSpans() {
    const auto& rows = store_.host_events;
    for (std::size_t row = 0; row < hosts_.size(); ++row)
      hosts_[row] = IsOfRank(rows.thread[row]) && HostOverlaps(row);
    ChooseDevices();
    for (std::size_t row = 0; row < tasks_.size(); ++row)
      tasks_[row] =
          IsOfRank(row) && Overlaps(store_.gpu_tasks.start[row], store_.gpu_tasks.duration[row]);
  }

  /// Chooses the devices on which the rank's processes launch. The ranks of a merged file share no
  /// devices.
  void ChooseDevices() {
    device_of_rank_.assign(store_.devices.rows(), !choice_.rank);
    if (!choice_.rank) return;
    for (std::size_t row = 0; row < tasks_.size(); ++row) {
      const HostEventId launch = store_.gpu_tasks.launch[row];
      if (launch.valid() && IsOfRank(store_.host_events.thread[launch.index()]))
        device_of_rank_[store_.DeviceOf(GpuTaskId(row)).index()] = true;
    }
  }
  bool IsOfRank(std::size_t task) const {
    return device_of_rank_[store_.DeviceOf(GpuTaskId(task)).index()];
  }

  bool IsLaunchedInWindow(std::size_t task) const {
    const HostEventId launch = store_.gpu_tasks.launch[task];
    return launch.valid() && hosts_[launch.index()] && HostOverlaps(launch.index());
  }

  /// Keeps tasks launched before the window that run after its end, because the host is ahead.
  /// Without them, the GPU would seem idle until the first kept task, and the first step would seem
  /// to begin with that task.
  void ChooseQueue() {
    if (!choice_.window) return;
    TimeNs last = choice_.window->end;
    for (std::size_t row = 0; row < tasks_.size(); ++row) {
      if (IsLaunchedInWindow(row)) last = std::max(last, store_.gpu_tasks.start[row]);
    }
    for (std::size_t row = 0; row < tasks_.size(); ++row) {
      const TimeNs start = store_.gpu_tasks.start[row];
      if (!IsOfRank(row) || start < choice_.window->end || start >= last) continue;
      const HostEventId launch = store_.gpu_tasks.launch[row];
      const bool is_earlier =
          !launch.valid() || store_.host_events.start[launch.index()] < choice_.window->start;
      if (is_earlier) tasks_[row] = true;
    }
  }

  void JoinLaunches() {
    for (std::size_t row = 0; row < tasks_.size(); ++row) {
      const HostEventId launch = store_.gpu_tasks.launch[row];
      if (!launch.valid()) continue;
      if (IsLaunchedInWindow(row)) tasks_[row] = true;
      if (!tasks_[row]) continue;
      for (HostEventId at = launch; at.valid() && !hosts_[at.index()];
           at = store_.host_events.parent[at.index()]) {
        hosts_[at.index()] = !is_step_[at.index()] || HostOverlaps(at.index());
        if (!hosts_[at.index()])
          break;  // Events around a step give no further details about the
                  // launch.
      }
      if (!HostOverlaps(launch.index()))
        outside_.emplace(store_.gpu_tasks.correlation[row], launch);
    }
  }

  using Arrow = std::pair<StringId, std::int64_t>;  ///< Category and id.
  void ChooseArrows() {
    const auto& rows = store_.flows;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      if (IsOfRank(rows.thread[row]) && (Contains(rows.time[row]) || IsAtLaunchOutside(row)))
        arrows_.emplace(rows.category[row], rows.id[row]);
    }
  }

  /// Returns true if this end of an arrow is at a launch that is kept only for its task.
  bool IsAtLaunchOutside(std::size_t flow) const {
    const auto launch = outside_.find(store_.flows.id[flow]);
    if (launch == outside_.end()) return false;
    const std::size_t row = launch->second.index();
    return store_.host_events.thread[row] == store_.flows.thread[flow] &&
           store_.host_events.start[row] <= store_.flows.time[flow] &&
           store_.flows.time[flow] <= store_.HostEnd(launch->second);
  }

  bool KeepsSync(std::size_t row) const {
    const StreamId stream = store_.syncs.stream[row];
    if (stream.valid() && !device_of_rank_[store_.streams.device[stream.index()].index()])
      return false;
    return Overlaps(store_.syncs.start[row], store_.syncs.duration[row]);
  }

  std::vector<bool> KeptCounters() const {
    const auto& rows = store_.counters;
    std::vector<bool> kept(rows.rows());
    std::map<std::tuple<StringId, StringId, ThreadId>, std::size_t> before;
    for (std::size_t row = 0; row < kept.size(); ++row) {
      if (!IsOfRank(rows.thread[row])) continue;
      kept[row] = Contains(rows.time[row]);
      if (kept[row] || rows.time[row] >= choice_.window->start) continue;
      const auto [last, is_new] =
          before.try_emplace({rows.name[row], rows.series[row], rows.thread[row]}, row);
      if (!is_new && rows.time[last->second] <= rows.time[row]) last->second = row;
    }
    for (const auto& [series, row] : before) kept[row] = true;
    return kept;
  }

  template <typename Table, typename Keep>
  static void CopyRows(const Table& from, Table& to, RowCopier& copier, Keep&& keep) {
    for (std::size_t row = 0; row < from.rows(); ++row) {
      if (keep(row)) copier.Copy(from, row, to);
    }
  }

  std::unique_ptr<TraceStore> Copied() const {
    auto part = std::make_unique<TraceStore>();
    part->metadata = store_.metadata;
    AddCarried(store_.log, part->log);
    if (choice_.rank) part->metadata.rank = choice_.rank;
    RowCopier copier(store_, *part);
    copier.CopyAll(store_.processes, part->processes);
    copier.CopyAll(store_.threads, part->threads);
    copier.CopyAll(store_.devices, part->devices);
    copier.CopyAll(store_.streams, part->streams);
    CopyRows(store_.host_events, part->host_events, copier,
             [&](std::size_t row) { return hosts_[row]; });
    std::vector<GpuTaskId> new_task(tasks_.size());
    std::uint32_t next = 0;
    CopyRows(store_.gpu_tasks, part->gpu_tasks, copier, [&](std::size_t row) {
      if (tasks_[row]) new_task[row] = GpuTaskId(next++);
      return tasks_[row];
    });
    CopyRows(store_.collectives, part->collectives, copier, [&](std::size_t row) {
      const GpuTaskId task = new_task[store_.collectives.task[row].index()];
      if (task.valid()) part->collectives.task.Append(task);
      return task.valid();
    });
    CopyRows(store_.syncs, part->syncs, copier, [&](std::size_t row) { return KeepsSync(row); });
    CopyRows(store_.flows, part->flows, copier, [&](std::size_t row) {
      return arrows_.contains({store_.flows.category[row], store_.flows.id[row]});
    });
    const std::vector<bool> counters = KeptCounters();
    CopyRows(store_.counters, part->counters, copier,
             [&](std::size_t row) { return counters[row]; });
    const auto at = [&](const auto& rows) {
      return
          [&](std::size_t row) { return IsOfRank(rows.thread[row]) && Contains(rows.time[row]); };
    };
    CopyRows(store_.memory_events, part->memory_events, copier, at(store_.memory_events));
    CopyRows(store_.instants, part->instants, copier, at(store_.instants));
    part->metadata.events =
        static_cast<std::int64_t>(part->host_events.rows() + part->gpu_tasks.rows());
    part->Freeze(1);
    return part;
  }

  const TraceStore& store_;
  const PartChoice& choice_;
  std::vector<bool> hosts_, tasks_;  ///< True if the row is in the part.
  std::vector<bool> is_step_;        ///< Indexed by host event.
  std::vector<bool> of_rank_;        ///< Indexed by process.
  std::vector<bool> device_of_rank_;
  std::map<std::int64_t, HostEventId> outside_;  ///< Launches outside the window, by correlation.
  std::set<Arrow> arrows_;
};

}  // namespace

std::vector<std::int64_t> RanksOfProcesses(const TraceStore& store) {
  constexpr std::string_view kRank = "rank ";
  std::set<std::int64_t> ranks;
  for (const StringId id : store.processes.name.values()) {
    const std::string_view name = store.Text(id);
    if (!name.starts_with(kRank)) continue;
    std::int64_t rank = -1;
    std::from_chars(name.data() + kRank.size(), name.data() + name.size(), rank);
    if (rank >= 0 && IsNamedAsRank(name, rank)) ranks.insert(rank);
  }
  return {ranks.begin(), ranks.end()};
}

bool HasProcessesOfRank(const TraceStore& store, std::int64_t rank) {
  for (const StringId name : store.processes.name.values()) {
    if (IsNamedAsRank(store.Text(name), rank)) return true;
  }
  return false;
}

std::unique_ptr<TraceStore> PartOf(const TraceStore& store, const PartChoice& choice) {
  return PartMaker(store, choice).Make();
}

}  // namespace headroom
