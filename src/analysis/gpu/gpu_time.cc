#include "analysis/gpu/gpu_time.h"

#include <algorithm>
#include <map>

#include "analysis/names/attribution.h"
#include "base/statistics.h"

namespace headroom {

std::vector<DeviceWork> CollectDeviceWork(const TraceStore& store, NameFacts& names) {
  std::map<std::int64_t, DeviceWork> by_device;
  std::vector<DeviceWork*> of_stream(store.streams.rows());
  const auto& tasks = store.gpu_tasks;
  // Tasks are sorted by start, so one pass builds every union.
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const StreamId stream = tasks.stream[i];
    DeviceWork*& work = of_stream[stream.index()];
    if (work == nullptr) {
      const std::int64_t device =
          store.devices.ordinal[store.streams.device[stream.index()].index()];
      work = &by_device[device];
      work->device = device;
    }
    const Interval interval = {tasks.start[i], store.TaskEnd(GpuTaskId(i))};
    work->busy.AppendInOrder(interval);
    if (tasks.kind[i] != GpuTaskKind::kKernel) {
      work->memory.AppendInOrder(interval);
    } else if (names.IsCommunication(tasks.name[i])) {
      work->communication.AppendInOrder(interval);
    } else {
      work->compute.AppendInOrder(interval);
    }
  }
  std::vector<DeviceWork> rows;
  rows.reserve(by_device.size());
  for (auto& [device, work] : by_device) rows.push_back(std::move(work));
  return rows;
}

IntervalSet FindBusyTime(const TraceStore& store, ProcessId process) {
  IntervalSet busy;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (!IsWorkOf(store, process, GpuTaskId(i))) continue;
    busy.AppendInOrder({store.gpu_tasks.start[i], store.TaskEnd(GpuTaskId(i))});
  }
  return busy;
}

namespace {

/// Returns the number of a device or stream. Readers write -1 if the trace does not state it.
std::optional<std::int64_t> NumberOf(std::int64_t stored) {
  return stored == -1 ? std::nullopt : std::optional(stored);
}

}  // namespace

std::vector<GpuTimeRow> ComputeGpuTime(const TraceStore& store,
                                       const std::vector<DeviceWork>& work) {
  std::vector<GpuTimeRow> rows;
  const auto& tasks = store.gpu_tasks;
  if (tasks.rows() == 0) return rows;
  // All rows share the rank's span, so that devices are comparable.
  TimeNs last = tasks.start[0];
  for (std::size_t i = 0; i < tasks.rows(); ++i) last = std::max(last, store.TaskEnd(GpuTaskId(i)));
  const DurationNs span = last - tasks.start[0];
  for (const DeviceWork& device : work) {
    GpuTimeRow row;
    row.device = NumberOf(device.device);
    row.span = span;
    row.busy = device.busy.Measure();
    row.compute = device.compute.Measure();
    row.communication = device.communication.Measure();
    row.memory = device.memory.Measure();
    const IntervalSet exposed_communication = Subtract(device.communication, device.compute);
    row.exposed_communication = exposed_communication.Measure();
    row.exposed_memory =
        Subtract(device.memory, Unite(device.compute, device.communication)).Measure();
    row.idle = span - row.busy;
    if (row.communication.ns() > 0) {
      row.overlap_communication_pct =
          SharePct(row.communication - row.exposed_communication, row.communication);
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<IdleRow> ComputeIdle(const TraceStore& store) {
  std::vector<IdleRow> rows;
  const auto& tasks = store.gpu_tasks;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    if (of_stream.empty()) continue;
    IdleRow row;
    row.device = NumberOf(store.devices.ordinal[store.streams.device[s].index()]);
    row.stream = NumberOf(store.streams.number[s]);
    TimeNs busy_until = store.TaskEnd(of_stream.front());
    for (const GpuTaskId task : of_stream.subspan(1)) {
      const TimeNs start = tasks.start[task.index()];
      if (start > busy_until) {
        const HostEventId launch = tasks.launch[task.index()];
        DurationNs& cause = !launch.valid() ? row.other
                            : store.host_events.start[launch.index()] > busy_until
                                ? row.host_wait
                                : row.kernel_wait;
        cause += start - busy_until;
      }
      busy_until = std::max(busy_until, store.TaskEnd(task));
    }
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const IdleRow& a, const IdleRow& b) {
    return a.device != b.device ? a.device < b.device : a.stream < b.stream;
  });
  return rows;
}

}  // namespace headroom
