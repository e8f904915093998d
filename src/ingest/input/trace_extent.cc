#include "ingest/input/trace_extent.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace headroom {

TimeNs TraceExtent::Limit() const {
  constexpr DurationNs kAlwaysAllowed(60'000'000'000);
  return last + std::max(last - first, kAlwaysAllowed);
}

void SeeStarts(const TraceStore& store, TraceExtent& known, TraceExtent& other) {
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    (events.kind.Pending(row) == HostEventKind::kOther ? other : known)
        .See(events.start.Pending(row));
  }
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row)
    known.See(store.gpu_tasks.start.Pending(row));
}

TraceExtent ExtentOfStarts(const TraceStore& store) {
  TraceExtent known, other;
  SeeStarts(store, known, other);
  return known.empty() ? other : known;
}

void ClipOverflowingSpans(const TraceExtent& extent, TraceStore& store) {
  if (extent.empty()) return;
  auto& rows = store.host_events;
  const TimeNs limit = extent.Limit();
  // A span of an unknown kind may start beyond the limit; then its end is not suspicious.
  const auto overflows = [&](TimeNs start, DurationNs duration) {
    return start <= limit && start + duration > limit;
  };
  std::vector<std::size_t> overflowing;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (overflows(rows.start.Pending(row), rows.duration.Pending(row))) overflowing.push_back(row);
  }
  std::vector<std::pair<ThreadId, TimeNs>> starts;
  if (!overflowing.empty()) {
    starts.reserve(rows.rows());
    for (std::size_t row = 0; row < rows.rows(); ++row)
      starts.emplace_back(rows.thread.Pending(row), rows.start.Pending(row));
    std::sort(starts.begin(), starts.end());
  }
  for (const std::size_t row : overflowing) {
    const ThreadId thread = rows.thread.Pending(row);
    const TimeNs start = rows.start.Pending(row);
    const auto next = std::upper_bound(starts.begin(), starts.end(), std::pair(thread, start));
    const bool has_next = next != starts.end() && next->first == thread;
    const TimeNs end = has_next ? next->second : std::max(extent.last, start);
    DurationNs& duration = rows.duration.MutablePending(row);
    duration = std::min(duration, end - start);
    store.log.Add(ImportIssue::kOverflowingDuration);
  }
  auto& waits = store.syncs;
  for (std::size_t row = 0; row < waits.rows(); ++row) {
    const TimeNs start = waits.start.Pending(row);
    if (!overflows(start, waits.duration.Pending(row))) continue;
    waits.duration.MutablePending(row) = std::max(extent.last, start) - start;
    store.log.Add(ImportIssue::kOverflowingDuration);
  }
}

void ClipOverflowingTasks(const TraceExtent& extent, TraceStore& store) {
  if (extent.empty()) return;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    for (std::size_t i = 0; i < of_stream.size(); ++i) {
      if (store.TaskEnd(of_stream[i]) <= extent.Limit()) continue;
      const TimeNs start = store.gpu_tasks.start[of_stream[i].index()];
      // The last task of its stream has no successor, so it ends with the trace.
      const TimeNs end = i + 1 < of_stream.size() ? store.gpu_tasks.start[of_stream[i + 1].index()]
                                                  : std::max(extent.last, start);
      store.gpu_tasks.duration.Mutable(of_stream[i].index()) = end - start;
      store.log.Add(ImportIssue::kOverflowingDuration);
    }
  }
}

}  // namespace headroom
