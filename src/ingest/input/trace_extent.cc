#include "ingest/input/trace_extent.h"

#include <cstddef>
#include <span>

namespace headroom {

TimeNs TraceExtent::Limit() const {
  constexpr DurationNs kAlwaysAllowed(60'000'000'000);
  return last + std::max(last - first, kAlwaysAllowed);
}

void ClipOverflowingTasks(const TraceExtent& extent, TraceStore& store) {
  if (extent.empty()) return;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    for (std::size_t i = 0; i < of_stream.size(); ++i) {
      if (store.TaskEnd(of_stream[i]) <= extent.Limit()) continue;
      const TimeNs start = store.gpu_tasks.start[of_stream[i].index()];
      // The last task of its stream has no successor; the trace ends with it.
      const TimeNs end =
          i + 1 < of_stream.size() ? store.gpu_tasks.start[of_stream[i + 1].index()] : extent.last;
      store.gpu_tasks.duration.Mutable(of_stream[i].index()) = end - start;
      store.log.Add(ImportIssue::kOverflowingDuration);
    }
  }
}

}  // namespace headroom
