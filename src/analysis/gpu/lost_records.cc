#include "analysis/gpu/lost_records.h"

#include <cstdint>

#include "analysis/gpu/graph_capture.h"
#include "store/trace_formats.h"

namespace headroom {

bool IsCapped(const TraceStore& store) {
  // For XLA traces the reader logs the cap.
  if (IsOfXla(store.metadata.recorded_as())) return store.log.Count(ImportIssue::kEventCap) > 0;
  constexpr std::int64_t kExporterEventCap = 1000000;
  return store.metadata.events >= kExporterEventCap &&
         store.metadata.events < kExporterEventCap + 100 &&
         store.log.Count(ImportIssue::kTruncated) == 0;
}

bool IsCut(const TraceStore& store) {
  return store.log.Count(ImportIssue::kTruncated) > 0 || IsCapped(store);
}

std::vector<HostEventId> FindLaunchesWithoutTask(const TraceStore& store, NameFacts& names) {
  const auto& events = store.host_events;
  std::vector<bool> launched(events.rows());
  // A runtime call may forward its launch to a driver call. Only one of the two has the task.
  std::vector<bool> passed_on(events.rows());
  for (const HostEventId launch : store.gpu_tasks.launch.values()) {
    if (!launch.valid()) continue;
    launched[launch.index()] = true;
    const HostEventId parent = events.parent[launch.index()];
    if (parent.valid()) passed_on[parent.index()] = true;
  }
  const auto launches_kernel = [&](std::size_t row) {
    return (events.kind[row] == HostEventKind::kRuntimeCall ||
            events.kind[row] == HostEventKind::kDriverCall) &&
           events.correlation[row] != kUnknown &&
           names.Roles(events.name[row]).Has(HostRole::kKernelLaunch);
  };
  const IntervalSet captures = FindGraphCaptures(store, names);
  std::vector<HostEventId> without_task;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (launched[row] || passed_on[row] || !launches_kernel(row)) continue;
    if (Contains(captures, events.start[row])) continue;
    // A launch inside another one is the same launch and counts once.
    const HostEventId parent = events.parent[row];
    if (parent.valid() && launches_kernel(parent.index())) continue;
    without_task.emplace_back(row);
  }
  return without_task;
}

}  // namespace headroom
