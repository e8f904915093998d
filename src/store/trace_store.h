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

/// What the file says of itself. Only named keys are kept: a trace may hold secrets.
struct TraceMetadata {
  std::string format;  ///< One of store/trace_formats.h.
  /// The format of what this file is a copy of (`headroom export`); empty: it is none, or of
  /// something that no copy tells.
  std::string copied_from;
  std::int64_t file_bytes = 0;  ///< On disk.
  std::int64_t events = 0;      ///< Objects in the event list, lost and skipped ones included.
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> cuda_driver_version;  ///< 13000 is 13.0.
  std::vector<SoftwareVersion> versions;            ///< By name; as far as the file tells them.
  std::optional<std::int64_t> base_time_ns;         ///< Unix time of the trace clock's zero.
  /// Whether the exporter is one that never writes shapes or frames (PyTorch without Kineto).
  bool names_and_times_only = false;
  /// Whether `headroom whatif --write-trace` wrote it: the timeline of a job that no profiler slows
  /// down, so nothing is to be taken off for one.
  bool is_forecast = false;

  /// The format in which the tool wrote that recorded it: what it can hold, and what helps whoever
  /// records again.
  const std::string& recorded_as() const { return copied_from.empty() ? format : copied_from; }
};

/// One trace. Readers append rows, then Freeze() sorts and resolves; afterwards nothing changes and
/// any number of threads may read.
class TraceStore {
 public:
  TraceMetadata metadata;
  StringPool strings;
  ImportLog log;

#define T(Name, member, sentence) Name##Columns<Column> member;
  HEADROOM_TABLES(T)
#undef T

  /// Sorts host events by (thread, start, longest first, kind, as read) and GPU tasks by (start,
  /// stream, as read), drops copies of events, fills `parent`, `launch` and `steps`, and makes
  /// every column contiguous.
  ///
  /// `workers` bounds the threads used; the result does not depend on it. Throws std::bad_alloc;
  /// then the store is of no use.
  ///
  /// REQUIRES: called once.
  void Freeze(int workers);

  /// Operators and frames of captured graphs, with a copy of them for each replay.
  struct ReplayedEvents {
    /// All with the start of their graph launch and no length, so that no time of the host is
    /// theirs. Thread, ids and parent are as may be: AddReplayed() sets them.
    HostEventColumns<Column> events;
    std::vector<HostEventId> parents;  ///< By row of `events`: an earlier row of it, or none.
    std::vector<HostEventId> ran;      ///< By GPU task: the row of `events` that ran it, or none.
  };

  /// Appends the events behind all others, on a thread of a process of their own, so that no row
  /// changes its number. REQUIRES: frozen, called at most once.
  void AddReplayed(ReplayedEvents replayed);

  /// The thread of the replayed events; none where there are none. What the host did is on the
  /// others.
  ThreadId replay_thread() const { return replay_thread_; }

  /// Which event ran a task: the replayed one where its graph's capture is known, else its launch;
  /// none for an orphan.
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

  /// Gives each host event that has no value of its own that of the innermost event around it that
  /// has one. O(rows), where a walk from each event outwards would take the square of the depth.
  ///
  /// @param values  of each row of host_events; `none` where it has none
  template <typename Value>
  std::vector<Value> InheritFromParents(std::vector<Value> values, const Value& none) const {
    for (std::size_t row = 0; row < values.size(); ++row) {  // A parent comes before its children.
      const HostEventId parent = host_events.parent[row];
      if (values[row] == none && parent.valid()) values[row] = values[parent.index()];
    }
    return values;
  }

  /// GPU tasks of a stream in order of start, ties by id. O(1).
  std::span<const GpuTaskId> TasksOf(StreamId stream) const;

  /// End of a row: start + duration.
  TimeNs HostEnd(HostEventId id) const {
    return host_events.start[id.index()] + host_events.duration[id.index()];
  }
  TimeNs TaskEnd(GpuTaskId id) const {
    return gpu_tasks.start[id.index()] + gpu_tasks.duration[id.index()];
  }
  /// How much later than its parent a host event may seem to end. Where all starts are whole
  /// microseconds, an end is off by up to one of them, and by another where all durations are; else
  /// 0. Known once frozen.
  DurationNs HostTolerance() const { return host_tolerance_; }
  DeviceId DeviceOf(GpuTaskId id) const {
    return streams.device[gpu_tasks.stream[id.index()].index()];
  }

  /// The JSON text of one member of `args` that has no column, e.g. Arg(row.args, "Input Dims");
  /// empty where absent.
  std::string_view Arg(StringId args, std::string_view key) const;

  /// Resident bytes of all columns and strings.
  std::size_t MemoryBytes() const;

 private:
  void FreezeHostEvents(int workers);
  void FreezeGpuTasks(int workers);
  void FindHostTolerance();
  void ResolveParents();
  std::vector<std::uint32_t> InstantsNamed(std::string_view name) const;
  /// A step with a mark "step.empty" is none: the loop asked for a batch and there was no more.
  void CollectSteps();

  DurationNs host_tolerance_;
  std::vector<std::uint32_t> host_event_begin_;  ///< By thread, and one past the end.
  std::vector<std::uint32_t> stream_begin_;      ///< By stream, into stream_tasks_.
  std::vector<GpuTaskId> stream_tasks_;
  ThreadId replay_thread_;
  std::vector<HostEventId> ran_;  ///< By GPU task, of the replayed events; empty without any.
};

}  // namespace headroom
