#include "analysis/lost_records.h"

#include <cstdint>

#include "analysis/graph_capture.h"
#include "store/trace_formats.h"

namespace headroom {

bool IsCapped(const TraceStore& store) {
  // Of those, the reader tells.
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
  for (const HostEventId launch : store.gpu_tasks.launch.values()) {
    if (launch.valid()) launched[launch.index()] = true;
  }
  const IntervalSet captures = FindGraphCaptures(store, names);
  std::vector<HostEventId> without_task;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (launched[row] || events.correlation[row] == kUnknown) continue;
    if (events.kind[row] != HostEventKind::kRuntimeCall &&
        events.kind[row] != HostEventKind::kDriverCall)
      continue;
    if (!names.Roles(events.name[row]).Has(HostRole::kKernelLaunch)) continue;
    if (Contains(captures, events.start[row])) continue;
    // A runtime call may pass its launch on to a driver call with the same number; one of the two
    // has the task.
    const HostEventId parent = events.parent[row];
    if (parent.valid() && launched[parent.index()] &&
        events.correlation[parent.index()] == events.correlation[row]) {
      continue;
    }
    const bool passed_on =
        row + 1 < events.rows() && events.parent[row + 1] == HostEventId(row) && launched[row + 1];
    if (!passed_on) without_task.emplace_back(row);
  }
  return without_task;
}

}  // namespace headroom
