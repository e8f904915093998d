// The trace store: one trace file as columns, strings and an import log.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "base/time.h"
#include "store/column.h"
#include "store/import_log.h"
#include "store/software_version.h"
#include "store/tables.h"

namespace headroom {

/// Metadata that the file states. Only named keys are kept, because a trace may hold secrets.
struct TraceMetadata {
  std::string format;  ///< A name from store/trace_formats.h.
  /// The format of the original if this file is a copy (`headroom export`). Empty if it is not a
  /// copy, or if the copy does not record the format.
  std::string copied_from;
  std::int64_t file_bytes = 0;  ///< Size on disk.
  std::int64_t events = 0;      ///< Objects in the event list, including lost and skipped ones.
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> cuda_driver_version;  ///< 13000 is 13.0.
  /// Sorted by name; only those that the file records.
  std::vector<SoftwareVersion> versions;
  std::optional<std::int64_t> base_time_ns;  ///< Unix time of the trace clock's zero.
  /// True if the exporter never writes shapes or frames (PyTorch without Kineto).
  bool names_and_times_only = false;
  /// True if `headroom whatif --write-trace` wrote the file. No profiler slows down such a
  /// timeline, so no overhead is subtracted.
  bool is_forecast = false;
  /// True if start times were computed from dependencies, because none was recorded.
  bool computed_starts = false;

  /// Returns the format of the tool that recorded the trace. It determines which data the trace can
  /// contain, and the advice for recording it again.
  const std::string& recorded_as() const { return copied_from.empty() ? format : copied_from; }
};

/// One trace. Readers append rows, then Freeze() sorts and resolves them. After that nothing
/// changes, and any number of threads may read.
class TraceStore {
 public:
  TraceMetadata metadata;
  StringPool strings;
  ImportLog log;

#define T(Name, member, sentence) Name##Columns<Column> member;
  HEADROOM_TABLES(T)
#undef T

  /// Sorts host events by (thread, start, longest first, kind, as read) and GPU tasks by (start,
  /// stream, as read). Drops copies of events, fills `parent`, `launch` and `steps`, and makes
  /// every column contiguous.
  ///
  /// `workers` bounds the threads used; the result does not depend on it. Throws std::bad_alloc,
  /// after which the store is unusable.
  ///
  /// REQUIRES: called once.
  void Freeze(int workers);

  /// Operators and frames of captured graphs, with one copy per replay.
  struct ReplayedEvents {
    /// Each event has the start of its graph launch and no length, so it adds no host time.
    /// AddReplayed() sets thread, ids and parent.
    HostEventColumns<Column> events;
    /// Parent of each row of `events`: the row of an earlier event, or none.
    std::vector<HostEventId> parents;
    /// For each GPU task: the row of `events` that ran it, or none.
    std::vector<HostEventId> ran;
  };

  /// Appends the events after all others, on a new thread of a new process, so that existing rows
  /// keep their numbers.
  ///
  /// REQUIRES: frozen, called at most once.
  void AddReplayed(ReplayedEvents replayed);

  /// Returns the thread of the replayed events, or none. The events of all other threads really ran
  /// on the host.
  ThreadId replay_thread() const { return replay_thread_; }

  /// Returns the event that ran a task: the replayed event if its graph's capture is known, else
  /// its launch. Returns none for an orphan.
  HostEventId RanBy(GpuTaskId task) const {
    if (!ran_.empty() && ran_[task.index()].valid()) return ran_[task.index()];
    return gpu_tasks.launch[task.index()];
  }

  std::string_view Text(StringId id) const {
    return id.valid() ? strings.Get(id) : std::string_view();
  }

  /// Rows [first, last) of host_events that belong to a thread. O(1).
  struct RowRange {
    std::uint32_t first;
    std::uint32_t last;
  };
  RowRange HostEventsOf(ThreadId thread) const;

  /// Returns `values` with each missing value replaced by that of the innermost enclosing event
  /// that has one. O(rows); a walk outwards from each event would cost the square of the depth.
  /// @param values  one per row of host_events; `none` if missing
  template <typename Value>
  std::vector<Value> InheritFromParents(std::vector<Value> values, const Value& none) const {
    for (std::size_t row = 0; row < values.size(); ++row) {  // A parent comes before its children.
      const HostEventId parent = host_events.parent[row];
      if (values[row] == none && parent.valid()) values[row] = values[parent.index()];
    }
    return values;
  }

  /// Returns the GPU tasks of a stream in order of start, ties by id. O(1).
  std::span<const GpuTaskId> TasksOf(StreamId stream) const;

  /// Returns the end of a row: start + duration.
  TimeNs HostEnd(HostEventId id) const {
    return host_events.start[id.index()] + host_events.duration[id.index()];
  }
  TimeNs TaskEnd(GpuTaskId id) const {
    return gpu_tasks.start[id.index()] + gpu_tasks.duration[id.index()];
  }
  /// Returns the time by which a host event may seem to end after its parent. Adds 1 us if all
  /// starts are whole microseconds, and 1 us if all durations are. Valid once frozen.
  DurationNs HostTolerance() const { return host_tolerance_; }
  DeviceId DeviceOf(GpuTaskId id) const {
    return streams.device[gpu_tasks.stream[id.index()].index()];
  }

  /// Returns the JSON text of one member of `args` that has no column, e.g. Arg(row.args, "Input
  /// Dims"); empty if missing.
  std::string_view Arg(StringId args, std::string_view key) const;

  /// Returns the resident bytes of all columns and strings.
  std::size_t MemoryBytes() const;

 private:
  void FreezeHostEvents(int workers);
  void FreezeGpuTasks(int workers);
  void FindHostTolerance();
  void ResolveParents();
  std::vector<std::uint32_t> InstantsNamed(std::string_view name) const;
  /// Skips steps with a "step.empty" mark: the loop asked for a batch, but none remained.
  void CollectSteps();

  DurationNs host_tolerance_;
  std::vector<std::uint32_t> host_event_begin_;  ///< By thread, plus one entry for the end.
  std::vector<std::uint32_t> stream_begin_;      ///< By stream; offsets into stream_tasks_.
  std::vector<GpuTaskId> stream_tasks_;
  ThreadId replay_thread_;
  /// By GPU task: its replayed event; empty without replayed events.
  std::vector<HostEventId> ran_;
};

}  // namespace headroom
