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

  std::string_view Text(StringId id) const {
    return id.valid() ? strings.Get(id) : std::string_view();
  }

  /// Rows [first, last) of host_events that belong to a thread. O(1).
  struct RowRange {
    std::uint32_t first;
    std::uint32_t last;
  };
  RowRange HostEventsOf(ThreadId thread) const;

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
};

}  // namespace headroom
