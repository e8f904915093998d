// Every table of the trace store, declared once. The lists below generate everything that has one
// entry per column, such as names in SQL and Python, and the reference page.
//
// A row of a list: X(type, member, "unit", "meaning of null", "meaning of the column").
//   unit    "" for a plain value
//   null    "never" if a value is always present; else the value that means "not recorded";
//           "computed" if TraceStore::Freeze() makes the column and readers append nothing
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace headroom {

/// Means "not recorded" in integer columns that are not ids. No profiler writes this value.
inline constexpr std::int64_t kUnknown = INT64_MIN;
inline constexpr std::int32_t kUnknown32 = INT32_MIN;

/// Kind of a host event. The order is the nesting order of equal spans, outermost first.
enum class HostEventKind : std::uint8_t {
  kPythonFrame,
  kAnnotation,     ///< record_function ranges, ProfilerStep, optimizer and loader ranges.
  kOperator,       ///< A framework operator (`cpu_op`).
  kRuntimeCall,    ///< CUDA or HIP runtime API.
  kDriverCall,     ///< CUDA driver API.
  kOverhead,       ///< Time that the profiler itself used.
  kGpuAnnotation,  ///< An annotation on the track of a stream, not GPU work.
  kOther,          ///< A category that Headroom does not interpret; kept and available in SQL.
};

enum class GpuTaskKind : std::uint8_t { kKernel, kMemcpy, kMemset };

/// Direction of a copy, from its name ("Memcpy HtoD (Pinned -> Device)").
enum class CopyKind : std::uint8_t {
  kNotACopy,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeer,
  kOther
};

enum class SyncKind : std::uint8_t { kContext, kStream, kEvent, kStreamWaitEvent, kOther };

enum class FlowPhase : std::uint8_t { kStart, kStep, kFinish };

// clang-format off

#define HEADROOM_PROCESS_COLUMNS(X) \
  X(StringId, pid,    "", "never", "Process id as the source writes it; a device number for device tracks.") \
  X(StringId, name,   "", "none",  "Process name.") \
  X(StringId, labels, "", "none",  "Labels, e.g. CPU or GPU 0.")

#define HEADROOM_THREAD_COLUMNS(X) \
  X(ProcessId, process, "", "never", "Process of the thread.") \
  X(StringId,  tid,     "", "never", "Thread id as the source writes it; a stream number for device tracks.") \
  X(StringId,  name,    "", "none",  "Thread name.")

#define HEADROOM_DEVICE_COLUMNS(X) \
  X(std::int64_t, ordinal,       "",      "never",   "Device number in its process, as the profiler counts; -1 if not recorded.") \
  X(StringId,     name,          "",      "none",    "Product name.") \
  X(std::int64_t, memory_bytes,  "bytes", "unknown", "Global memory.") \
  X(std::int32_t, sm_count,      "",      "unknown", "Streaming multiprocessors or compute units.") \
  X(std::int32_t, compute_major, "",      "unknown", "Compute capability, major.") \
  X(std::int32_t, compute_minor, "",      "unknown", "Compute capability, minor.")

#define HEADROOM_STREAM_COLUMNS(X) \
  X(DeviceId,     device, "", "never", "Device of the stream.") \
  X(std::int64_t, number, "", "never", "Stream number as the profiler writes it; -1 if not recorded.")

#define HEADROOM_HOST_EVENT_COLUMNS(X) \
  X(TimeNs,        start,            "ns", "never",   "Start on the trace clock.") \
  X(DurationNs,    duration,         "ns", "never",   "Length; 0 if shorter than the clock's resolution or damaged (see the import log).") \
  X(StringId,      name,             "",   "never",   "Name as the source writes it.") \
  X(StringId,      category,         "",   "never",   "Category as the source writes it.") \
  X(ThreadId,      thread,           "",   "never",   "Thread or device track.") \
  X(HostEventKind, kind,             "",   "never",   "Operator, call, annotation, frame, ...") \
  X(std::int64_t,  correlation,      "",   "unknown", "Joins an API call to its GPU tasks.") \
  X(std::int64_t,  external_id,      "",   "unknown", "The profiler's id of the operator; for a call, the id of the operator that made the call.") \
  X(std::int64_t,  sequence,         "",   "unknown", "Autograd sequence number: joins forward to backward.") \
  X(std::int32_t,  forward_thread,   "",   "unknown", "The framework's number of the forward thread, for backward operators.") \
  X(std::int32_t,  python_id,        "",   "unknown", "Id of a Python frame.") \
  X(std::int32_t,  python_parent_id, "",   "unknown", "Id of the calling Python frame.") \
  X(std::int32_t,  event_index,      "",   "unknown", "The profiler's sequential number of the event.") \
  X(std::int32_t,  record_function,  "",   "unknown", "Record function id.") \
  X(StringId,      args,             "",   "none",    "Members of `args` that have no column, as JSON text.") \
  X(HostEventId,   parent,           "",   "computed", "Innermost event of the same thread that contains this one, within the precision of the timestamps, or none.")

#define HEADROOM_GPU_TASK_COLUMNS(X) \
  X(TimeNs,       start,         "ns",    "never",   "Start, device time mapped to the trace clock.") \
  X(DurationNs,   duration,      "ns",    "never",   "Length; 0 if shorter than the clock's resolution or damaged.") \
  X(StringId,     name,          "",      "never",   "Kernel or copy name, as the source writes it.") \
  X(StreamId,     stream,        "",      "never",   "Stream, which determines the device.") \
  X(GpuTaskKind,  kind,          "",      "never",   "Kernel, copy or set.") \
  X(CopyKind,     copy,          "",      "never",   "Direction of a copy.") \
  X(std::int64_t, correlation,   "",      "unknown", "Joins the task to the call that launched it; shared by all nodes of a graph launch.") \
  X(std::int64_t, external_id,   "",      "unknown", "The profiler's id of the operator that launched the task.") \
  X(std::int32_t, grid_x,        "blocks", "unknown", "Grid size.") \
  X(std::int32_t, grid_y,        "blocks", "unknown", "Grid size.") \
  X(std::int32_t, grid_z,        "blocks", "unknown", "Grid size.") \
  X(std::int32_t, block_x,       "threads", "unknown", "Block size.") \
  X(std::int32_t, block_y,       "threads", "unknown", "Block size.") \
  X(std::int32_t, block_z,       "threads", "unknown", "Block size.") \
  X(std::int32_t, registers,     "",      "unknown", "Registers per thread.") \
  X(std::int32_t, shared_memory, "bytes", "unknown", "Shared memory per block.") \
  X(std::int32_t, occupancy_pct, "%",     "unknown", "Estimated achieved occupancy.") \
  X(std::int64_t, graph_node,    "",      "unknown", "Node id within a launched CUDA graph.") \
  X(std::int64_t, bytes,         "bytes", "unknown", "Bytes copied or set.") \
  X(StringId,     args,          "",      "none",    "Members of `args` that have no column, as JSON text.") \
  X(HostEventId,  launch,        "",      "computed", "The call that launched the task, joined by correlation, or none.")

#define HEADROOM_SYNC_COLUMNS(X) \
  X(TimeNs,       start,               "ns", "never",   "Start of the wait.") \
  X(DurationNs,   duration,            "ns", "never",   "Length of the wait.") \
  X(SyncKind,     kind,                "",   "never",   "Object of the wait: a context, a stream or an event.") \
  X(StreamId,     stream,              "",   "none",    "Stream that is synchronized or waits.") \
  X(std::int64_t, correlation,         "",   "unknown", "Joins to the API call.") \
  X(std::int64_t, wait_on_stream,      "",   "unknown", "Number of the stream whose event is waited for.") \
  X(std::int64_t, wait_on_correlation, "",   "unknown", "Correlation of the call that recorded the event.") \
  X(StringId,     args,                "",   "none",    "Members of `args` that have no column, as JSON text.")

#define HEADROOM_FLOW_COLUMNS(X) \
  X(TimeNs,       time,     "ns", "never", "Time of this end of the arrow.") \
  X(StringId,     category, "",   "never", "ac2g (launch to task), fwdbwd (forward to backward), or another category.") \
  X(std::int64_t, id,       "",   "unknown", "Arrow id: equal for start and finish.") \
  X(FlowPhase,    phase,    "",   "never", "Start, step or finish.") \
  X(ThreadId,     thread,   "",   "never", "Track of this end.")

#define HEADROOM_COUNTER_COLUMNS(X) \
  X(TimeNs,   time,   "ns", "never", "Time of the sample.") \
  X(StringId, name,   "",   "never", "Counter name.") \
  X(StringId, series, "",   "never", "Series of the counter (the key in `args`).") \
  X(StringId, unit,   "",   "none",  "Unit of the value, as the source writes it.") \
  X(ThreadId, thread, "",   "never", "Track of the counter.") \
  X(double,   value,  "",   "never", "Sampled value, in the unit of the counter.")

#define HEADROOM_MEMORY_EVENT_COLUMNS(X) \
  X(TimeNs,       time,                  "ns",    "never",   "Time of the allocation or free.") \
  X(ThreadId,     thread,                "",      "never",   "Thread that allocates or frees.") \
  X(std::int64_t, address,               "",      "unknown", "Address.") \
  X(std::int64_t, bytes,                 "bytes", "unknown", "Allocated bytes; negative for a free.") \
  X(std::int64_t, total_allocated_bytes, "bytes", "unknown", "Total bytes allocated by the framework, right after the event.") \
  X(std::int64_t, total_reserved_bytes,  "bytes", "unknown", "Total bytes reserved by the caching allocator, right after the event.") \
  X(std::int32_t, device_type,           "",      "unknown", "0 host, 1 CUDA, 6 HIP.") \
  X(std::int32_t, device,                "",      "unknown", "Device number; -1 for the host.") \
  X(std::int32_t, event_index,           "",      "unknown", "The profiler's sequential number of the event.")

#define HEADROOM_INSTANT_COLUMNS(X) \
  X(TimeNs,   time,     "ns", "never", "Time of the instant.") \
  X(StringId, name,     "",   "never", "Name.") \
  X(StringId, category, "",   "never", "Category; empty if the source has none.") \
  X(ThreadId, thread,   "",   "never", "Track.") \
  X(StringId, args,     "",   "none",  "`args` of the instant, as JSON text.")

#define HEADROOM_STEP_COLUMNS(X) \
  X(std::int64_t, index,    "",   "never", "Step number as annotated; negative if the name has no number.") \
  X(TimeNs,       start,    "ns", "never", "Start of the host-side annotation.") \
  X(DurationNs,   duration, "ns", "never", "Length of the host-side annotation.") \
  X(ThreadId,     thread,   "",   "never", "Thread that runs the training loop.") \
  X(HostEventId,  event,    "",   "none",  "The annotation of the step.")

#define HEADROOM_COLLECTIVE_COLUMNS(X) \
  X(GpuTaskId,    task,          "",         "never",   "The communication kernel.") \
  X(StringId,     name,          "",         "none",    "Collective, e.g. allreduce.") \
  X(StringId,     dtype,         "",         "none",    "Element type.") \
  X(StringId,     process_group, "",         "none",    "Name of the process group.") \
  X(std::int64_t, in_elements,   "elements", "unknown", "Elements sent per rank.") \
  X(std::int64_t, out_elements,  "elements", "unknown", "Elements received per rank.") \
  X(std::int64_t, group_size,    "ranks",    "unknown", "Ranks in the group.")

// clang-format on

/// Every table: T(Type, member, "sentence").
#define HEADROOM_TABLES(T)                                                                       \
  T(Process, processes, "Processes and device tracks.")                                          \
  T(Thread, threads, "Threads and the tracks of streams.")                                       \
  T(Device, devices, "GPUs.")                                                                    \
  T(Stream, streams, "GPU streams.")                                                             \
  T(HostEvent, host_events, "Spans on host threads, sorted by thread, start, longest first.")    \
  T(GpuTask, gpu_tasks, "Work that a device executed, sorted by start.")                         \
  T(Sync, syncs, "Waits of the host or of a stream for GPU work, as the profiler records them.") \
  T(Flow, flows, "Ends of arrows, as recorded. Headroom never joins with them.")                 \
  T(Counter, counters, "Sampled values.")                                                        \
  T(MemoryEvent, memory_events, "Allocations and frees.")                                        \
  T(Instant, instants, "Points in time.")                                                        \
  T(Step, steps, "Annotated training steps, sorted by start.")                                   \
  T(Collective, collectives, "Communication kernels with recorded arguments.")

/// The columns of each table in any container template: `std::vector` while one reader thread fills
/// them, `Column` in the store. ForEachColumn(f) calls f(name, column) in order.
/// ForEachReadColumn(f) omits those that Freeze() computes. ForEachColumnPair visits the columns of
/// two such tables in pairs.
#define HEADROOM_DECLARE_MEMBER(type, member, unit, null, sentence) Container<type> member;
#define HEADROOM_VISIT_MEMBER(type, member, unit, null, sentence) visit(#member, member);
#define HEADROOM_VISIT_READ(type, member, unit, null, sentence) \
  if constexpr (std::string_view(null) != "computed") visit(#member, member);
#define HEADROOM_VISIT_PAIR(type, member, unit, null, sentence) visit(member, other.member);
#define HEADROOM_DECLARE_TABLE(Name, COLUMNS)                                           \
  template <template <typename> class Container>                                        \
  struct Name##Columns {                                                                \
    COLUMNS(HEADROOM_DECLARE_MEMBER)                                                    \
    template <typename Visitor>                                                         \
    void ForEachColumn(Visitor&& visit) {                                               \
      COLUMNS(HEADROOM_VISIT_MEMBER)                                                    \
    }                                                                                   \
    template <typename Visitor>                                                         \
    void ForEachColumn(Visitor&& visit) const {                                         \
      COLUMNS(HEADROOM_VISIT_MEMBER)                                                    \
    }                                                                                   \
    template <typename Visitor>                                                         \
    void ForEachReadColumn(Visitor&& visit) {                                           \
      COLUMNS(HEADROOM_VISIT_READ)                                                      \
    }                                                                                   \
    template <typename Other, typename Visitor>                                         \
    void ForEachColumnPair(Other& other, Visitor&& visit){COLUMNS(HEADROOM_VISIT_PAIR)} \
    /* Rows appended: the length of the first column. */                                \
    std::size_t rows() const {                                                          \
      std::size_t rows = 0;                                                             \
      bool first = true;                                                                \
      ForEachColumn([&](const char*, const auto& column) {                              \
        if (std::exchange(first, false)) rows = column.size();                          \
      });                                                                               \
      return rows;                                                                      \
    }                                                                                   \
  };

/// Returns the value that means "not recorded" in a column, or zero if a value is always present.
template <typename T>
constexpr T UnknownValue() {
  if constexpr (std::same_as<T, std::int64_t>) {
    return kUnknown;
  } else if constexpr (std::same_as<T, std::int32_t>) {
    return kUnknown32;
  } else {
    return T();  // The default of an id is none.
  }
}

/// Appends a row of unknown values and returns its number. The caller sets known values with
/// MutablePending(). Columns that Freeze() computes stay unchanged.
template <typename Table>
std::size_t AppendUnknown(Table& table) {
  const std::size_t row = table.rows();
  table.ForEachReadColumn([](const char*, auto& column) {
    column.Append(UnknownValue<typename std::remove_cvref_t<decltype(column)>::value_type>());
  });
  return row;
}

HEADROOM_DECLARE_TABLE(Process, HEADROOM_PROCESS_COLUMNS)
HEADROOM_DECLARE_TABLE(Thread, HEADROOM_THREAD_COLUMNS)
HEADROOM_DECLARE_TABLE(Device, HEADROOM_DEVICE_COLUMNS)
HEADROOM_DECLARE_TABLE(Stream, HEADROOM_STREAM_COLUMNS)
HEADROOM_DECLARE_TABLE(HostEvent, HEADROOM_HOST_EVENT_COLUMNS)
HEADROOM_DECLARE_TABLE(GpuTask, HEADROOM_GPU_TASK_COLUMNS)
HEADROOM_DECLARE_TABLE(Sync, HEADROOM_SYNC_COLUMNS)
HEADROOM_DECLARE_TABLE(Flow, HEADROOM_FLOW_COLUMNS)
HEADROOM_DECLARE_TABLE(Counter, HEADROOM_COUNTER_COLUMNS)
HEADROOM_DECLARE_TABLE(MemoryEvent, HEADROOM_MEMORY_EVENT_COLUMNS)
HEADROOM_DECLARE_TABLE(Instant, HEADROOM_INSTANT_COLUMNS)
HEADROOM_DECLARE_TABLE(Step, HEADROOM_STEP_COLUMNS)
HEADROOM_DECLARE_TABLE(Collective, HEADROOM_COLLECTIVE_COLUMNS)

#undef HEADROOM_DECLARE_MEMBER
#undef HEADROOM_VISIT_MEMBER
#undef HEADROOM_VISIT_READ
#undef HEADROOM_VISIT_PAIR
#undef HEADROOM_DECLARE_TABLE

}  // namespace headroom
