#include "store/join.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "store/row_copier.h"

namespace headroom {
namespace {

/// Returns the shift that moves a part's times to the clock of the first part.
DurationNs ShiftOf(const TraceStore& first, const TraceStore& part) {
  if (!first.metadata.base_time_ns || !part.metadata.base_time_ns) return DurationNs(0);
  return DurationNs(*part.metadata.base_time_ns - *first.metadata.base_time_ns);
}

Interval ExtentOf(const TraceStore& store) {
  Interval extent = {TimeNs(INT64_MAX), TimeNs(INT64_MIN)};
  const auto add = [&](TimeNs start, TimeNs end) {
    extent.start = std::min(extent.start, start);
    extent.end = std::max(extent.end, end);
  };
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    const HostEventKind kind = store.host_events.kind[row];
    if (kind == HostEventKind::kOther || kind == HostEventKind::kGpuAnnotation) continue;
    add(store.host_events.start[row], store.HostEnd(HostEventId(row)));
  }
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i)
    add(store.gpu_tasks.start[i], store.TaskEnd(GpuTaskId(i)));
  return extent;
}

std::set<std::string_view> ProcessesOf(const TraceStore& store) {
  std::set<std::string_view> processes;
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    const HostEventKind kind = store.host_events.kind[row];
    if (kind == HostEventKind::kOther || kind == HostEventKind::kGpuAnnotation) continue;
    const ProcessId process = store.threads.process[store.host_events.thread[row].index()];
    processes.insert(store.Text(store.processes.pid[process.index()]));
  }
  return processes;
}

/// Returns each row's id in the joined table of tracks. Rows with equal keys share an id.
template <typename Id, typename Table, typename KeyOf>
std::vector<Id> MapTracks(const Table& from, Table& to, RowCopier& copier, KeyOf key_of,
                          std::map<decltype(key_of(0)), Id>& known) {
  std::vector<Id> ids;
  for (std::size_t row = 0; row < from.rows(); ++row) {
    const auto [entry, fresh] =
        known.emplace(key_of(row), Id(static_cast<std::uint32_t>(known.size())));
    if (fresh) copier.Copy(from, row, to);
    ids.push_back(entry->second);
  }
  return ids;
}

}  // namespace

TimeNs BeginOf(const TraceStore& store) {
  return ExtentOf(store).start + DurationNs(store.metadata.base_time_ns.value_or(0));
}

std::string WhyNotOneProcess(std::span<const std::unique_ptr<TraceStore>> parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (ProcessesOf(*parts[i]) != ProcessesOf(*parts[0]))
      return "their events belong to different processes";
    const DurationNs shift = ShiftOf(*parts[i - 1], *parts[i]);
    if (ExtentOf(*parts[i]).start + shift < ExtentOf(*parts[i - 1]).end)
      return "they overlap in time";
  }
  return {};
}

std::unique_ptr<TraceStore> JoinRecordings(std::span<const std::unique_ptr<TraceStore>> parts) {
  auto joined = std::make_unique<TraceStore>();
  joined->metadata = parts[0]->metadata;
  joined->metadata.file_bytes = joined->metadata.events = 0;
  std::map<std::string, ProcessId> processes;
  std::map<std::pair<ProcessId, std::string>, ThreadId> threads;
  std::map<std::int64_t, DeviceId> devices;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> streams;
  for (const std::unique_ptr<TraceStore>& part : parts) {
    const TraceStore& from = *part;
    RowCopier copier(from, *joined);
    TrackMaps maps;
    maps.shift = ShiftOf(*parts[0], from);
    maps.processes = MapTracks(
        from.processes, joined->processes, copier,
        [&](std::size_t row) { return std::string(from.Text(from.processes.pid[row])); },
        processes);
    copier.Map(maps);
    maps.threads = MapTracks(
        from.threads, joined->threads, copier,
        [&](std::size_t row) {
          return std::pair(maps.processes[from.threads.process[row].index()],
                           std::string(from.Text(from.threads.tid[row])));
        },
        threads);
    maps.devices = MapTracks(
        from.devices, joined->devices, copier,
        [&](std::size_t row) { return from.devices.ordinal[row]; }, devices);
    copier.Map(maps);
    maps.streams = MapTracks(
        from.streams, joined->streams, copier,
        [&](std::size_t row) {
          return std::pair(maps.devices[from.streams.device[row].index()],
                           from.streams.number[row]);
        },
        streams);
    copier.Map(maps);
    const auto first_task = static_cast<std::uint32_t>(joined->gpu_tasks.rows());
    copier.CopyAll(from.host_events, joined->host_events);
    copier.CopyAll(from.gpu_tasks, joined->gpu_tasks);
    copier.CopyAll(from.syncs, joined->syncs);
    copier.CopyAll(from.flows, joined->flows);
    copier.CopyAll(from.counters, joined->counters);
    copier.CopyAll(from.memory_events, joined->memory_events);
    copier.CopyAll(from.instants, joined->instants);
    for (std::size_t row = 0; row < from.collectives.rows(); ++row) {
      copier.Copy(from.collectives, row, joined->collectives);
      joined->collectives.task.Append(
          GpuTaskId(first_task + static_cast<std::uint32_t>(from.collectives.task[row].index())));
    }
    joined->log.Merge(from.log);
    joined->metadata.file_bytes += from.metadata.file_bytes;
    joined->metadata.events += from.metadata.events;
  }
  joined->Freeze(1);
  return joined;
}

}  // namespace headroom
