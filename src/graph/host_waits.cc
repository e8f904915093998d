#include "graph/host_waits.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

/// The mapping of GPU times to the host's clock has an error of about a microsecond.
constexpr DurationNs kClockError{2'000};

bool WaitsForDevice(std::string_view call) {
  return call.find("DeviceSynchronize") != std::string_view::npos ||
         call.find("CtxSynchronize") != std::string_view::npos;
}

}  // namespace

HostWaits::HostWaits(const TraceStore& store, const std::vector<GpuTaskId>& tasks)
    : store_(store), by_stream_(store.streams.rows()), by_end_(tasks) {
  for (const GpuTaskId task : tasks) {
    by_stream_[store.gpu_tasks.stream[task.index()].index()].push_back(task);
    if (store.gpu_tasks.kind[task.index()] == GpuTaskKind::kMemcpy)
      copies_.emplace_back(store.gpu_tasks.launch[task.index()], task);
  }
  std::sort(by_end_.begin(), by_end_.end(), [&](GpuTaskId a, GpuTaskId b) {
    return std::pair(store.TaskEnd(a), a) < std::pair(store.TaskEnd(b), b);
  });
  std::sort(copies_.begin(), copies_.end());
  for (std::size_t row = 0; row < store.syncs.rows(); ++row) {
    if (store.syncs.correlation[row] != kUnknown)
      records_.emplace_back(store.syncs.correlation[row], row);
  }
  std::sort(records_.begin(), records_.end());
}

TimeNs HostWaits::LaunchOf(GpuTaskId task) const {
  return store_.host_events.start[store_.gpu_tasks.launch[task.index()].index()];
}

std::vector<GpuTaskId> HostWaits::LastLaunched(TimeNs when) const {
  std::vector<GpuTaskId> last(by_stream_.size());
  for (std::size_t s = 0; s < by_stream_.size(); ++s) {
    const auto after = std::partition_point(by_stream_[s].begin(), by_stream_[s].end(),
                                            [&](GpuTaskId task) { return LaunchOf(task) < when; });
    if (after != by_stream_[s].begin()) last[s] = *(after - 1);
  }
  return last;
}

HostWait HostWaits::Of(HostEventId call) const {
  const auto& events = store_.host_events;
  const TimeNs start = events.start[call.index()];
  const TimeNs end = store_.HostEnd(call);
  const auto ends_in_time = [&](GpuTaskId task) {
    return store_.TaskEnd(task) <= end + kClockError;
  };
  HostWait wait;
  const auto add = [&](GpuTaskId task) {
    if (task.valid() && ends_in_time(task)) wait.tasks.push_back(task);
  };

  const auto copy =
      std::lower_bound(copies_.begin(), copies_.end(), std::pair(call, GpuTaskId(0u)));
  if (copy != copies_.end() && copy->first == call) {
    wait.provenance = Provenance::kRecorded;
    add(copy->second);
    return wait;
  }

  const std::vector<GpuTaskId> last = LastLaunched(start);
  const std::int64_t correlation = events.correlation[call.index()];
  for (auto record = std::lower_bound(records_.begin(), records_.end(),
                                      std::pair(correlation, std::size_t{0}));
       correlation != kUnknown && record != records_.end() && record->first == correlation;
       ++record) {
    const SyncKind kind = store_.syncs.kind[record->second];
    const StreamId stream = store_.syncs.stream[record->second];
    if (kind != SyncKind::kStream || !stream.valid()) continue;
    wait.provenance = Provenance::kResolved;
    add(last[stream.index()]);
    return wait;
  }
  if (WaitsForDevice(store_.Text(events.name[call.index()]))) {
    wait.provenance = Provenance::kRecorded;
    for (const GpuTaskId task : last) add(task);
    return wait;
  }

  // Finds the last task that ended inside the call and was launched before it.
  auto after = std::partition_point(by_end_.begin(), by_end_.end(), ends_in_time);
  for (; after != by_end_.begin() && store_.TaskEnd(*(after - 1)) > start; --after) {
    if (LaunchOf(*(after - 1)) >= start) continue;
    add(*(after - 1));
    return wait;
  }
  // The work was already done, so the call waits for the task launched last.
  GpuTaskId latest;
  for (const GpuTaskId task : last) {
    if (task.valid() && (!latest.valid() || LaunchOf(task) > LaunchOf(latest))) latest = task;
  }
  add(latest);
  return wait;
}

}  // namespace headroom
