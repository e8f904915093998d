#include "store/slice.h"

#include <algorithm>
#include <vector>

#include "store/row_copier.h"

namespace headroom {
namespace {

std::uint32_t FirstFrom(const TraceStore& store, TraceStore::RowRange rows, TimeNs when) {
  const TimeNs* const starts = store.host_events.start.values().data();
  return static_cast<std::uint32_t>(
      std::lower_bound(starts + rows.first, starts + rows.last, when) - starts);
}

/// Appends the events that are open at `when`, the outermost first. `next` is the first event of
/// the thread at or after `when`.
void CopyOpenEvents(const TraceStore& store, ThreadId thread, std::uint32_t next, TimeNs when,
                    RowCopier& copier, TraceStore& slice) {
  std::vector<HostEventId> open;
  if (next == store.HostEventsOf(thread).first) return;
  for (HostEventId event(next - 1); event.valid();
       event = store.host_events.parent[event.index()]) {
    if (store.HostEnd(event) > when) open.push_back(event);
  }
  std::reverse(open.begin(), open.end());
  for (const HostEventId event : open)
    copier.Copy(store.host_events, event.index(), slice.host_events);
}

/// Copies the collectives of the slice. `kept` has the rows of the GPU tasks in the slice, in
/// order.
void CopyCollectives(const TraceStore& store, const std::vector<std::size_t>& kept,
                     RowCopier& copier, TraceStore& slice) {
  for (std::size_t row = 0; row < store.collectives.rows(); ++row) {
    const std::size_t task = store.collectives.task[row].index();
    const auto found = std::lower_bound(kept.begin(), kept.end(), task);
    if (found == kept.end() || *found != task) continue;
    copier.Copy(store.collectives, row, slice.collectives);
    slice.collectives.task.Append(GpuTaskId(static_cast<std::uint32_t>(found - kept.begin())));
  }
}

}  // namespace

TraceStore::RowRange HostEventsWithin(const TraceStore& store, ThreadId thread, Interval interval) {
  const TraceStore::RowRange all = store.HostEventsOf(thread);
  return {FirstFrom(store, all, interval.start), FirstFrom(store, all, interval.end)};
}

std::unique_ptr<TraceStore> Slice(const TraceStore& store, Interval host, TimeNs gpu_end) {
  auto slice = std::make_unique<TraceStore>();
  slice->metadata = store.metadata;
  RowCopier copier(store, *slice);
  copier.CopyAll(store.processes, slice->processes);
  copier.CopyAll(store.threads, slice->threads);
  copier.CopyAll(store.devices, slice->devices);
  copier.CopyAll(store.streams, slice->streams);
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (ThreadId(t) == store.replay_thread()) continue;
    const TraceStore::RowRange rows = HostEventsWithin(store, ThreadId(t), host);
    CopyOpenEvents(store, ThreadId(t), rows.first, host.start, copier, *slice);
    for (std::uint32_t row = rows.first; row < rows.last; ++row)
      copier.Copy(store.host_events, row, slice->host_events);
  }
  const std::span<const TimeNs> starts = store.gpu_tasks.start.values();
  std::vector<std::size_t> kept;
  for (auto start = std::lower_bound(starts.begin(), starts.end(), host.start);
       start != starts.end() && *start <= gpu_end; ++start) {
    const auto row = static_cast<std::size_t>(start - starts.begin());
    const HostEventId launch = store.gpu_tasks.launch[row];
    if (launch.valid() && store.host_events.start[launch.index()] >= host.end) continue;
    copier.Copy(store.gpu_tasks, row, slice->gpu_tasks);
    kept.push_back(row);
  }
  CopyCollectives(store, kept, copier, *slice);
  for (std::size_t row = 0; row < store.syncs.rows(); ++row) {
    const TimeNs start = store.syncs.start[row];
    if (start >= host.start && start <= gpu_end) copier.Copy(store.syncs, row, slice->syncs);
  }
  slice->metadata.events =
      static_cast<std::int64_t>(slice->host_events.rows() + slice->gpu_tasks.rows());
  slice->Freeze(1);
  return slice;
}

}  // namespace headroom
