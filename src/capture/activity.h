// GPU activity in a ring of kind HEADROOM_RING_ACTIVITY (headroom/detail/shared.h).
//
// An event is one record, followed by payload records. `ticks` is its start and `name` its name.
// The lowest 8 bits of `info` are its kind; the bits above count the payload records. A reader can
// therefore skip unknown kinds. Events of one ring are not sorted by time: GPU work is reported
// after it ends, and buffers return in any order.
//
// The payloads below are copied byte by byte into whole records, because writer and reader run on
// the same machine. A change to a payload requires a new HEADROOM_SHARED_VERSION.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headroom/detail/shared.h"

namespace headroom::activity {

/// Kind of an event: the lowest 8 bits of headroom_record.info.
enum class Kind : std::uint8_t {
  kGpuTask = HEADROOM_KIND_ACTIVITY,  ///< GpuTaskPayload, and KernelPayload for a kernel.
  kRuntimeCall,                       ///< CallPayload.
  kDriverCall,                        ///< CallPayload.
  kOverhead,                          ///< OverheadPayload.
  kSync,                              ///< SyncPayload.
  kMarker,                            ///< MarkerPayload; `name` is 0 at the end of a range.
  kNaming,                            ///< NamingPayload; `name` is the object's name.
  kExternalId,                        ///< ExternalIdPayload, without time or name.
  kMessage,                           ///< MessagePayload; `name` is one of message:: below.
};

/// Kind of work of a GPU task.
enum class Work : std::uint8_t { kKernel = 1, kMemcpy = 2, kMemset = 3 };

struct GpuTaskPayload {
  std::uint64_t end;  ///< End of the task, in ticks.
  std::uint32_t correlation;
  std::uint16_t device;
  Work work;
  std::uint8_t copy;  ///< Direction of a memcpy, as CUPTI numbers it (CopyText()).
  std::uint32_t stream;
  std::uint32_t context;
  std::uint64_t graph_node;  ///< Node of a CUDA graph; 0: none.
  std::uint64_t bytes;       ///< Bytes copied or set; 0 for a kernel.
  std::uint64_t reserved;
};

struct KernelPayload {
  std::uint32_t grid[3], block[3];
  std::uint32_t registers;      ///< Registers per thread.
  std::uint32_t shared_memory;  ///< Bytes per block, static and dynamic.
};

struct CallPayload {
  std::uint64_t end;
  std::uint32_t tid;
  std::uint32_t correlation;
};

struct OverheadPayload {
  std::uint64_t end;
  std::uint32_t tid;  ///< 0: no thread.
  std::uint32_t reserved;
};

struct SyncPayload {
  std::uint64_t end;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;  ///< kNone: no stream.
  std::uint32_t event;   ///< kNone: no event.
  std::uint64_t reserved;
  static constexpr std::uint32_t kNone = UINT32_MAX;
};

enum class Phase : std::uint32_t { kInstant, kBegin, kEnd };

struct MarkerPayload {
  std::uint32_t id;  ///< The same at the start and the end of a range.
  Phase phase;
  std::uint32_t tid;
  std::uint32_t domain;  ///< Name of the domain; 0: the default domain.
};

/// Type of a named object.
enum class Object : std::uint32_t { kUnknown, kProcess, kThread, kDevice, kContext, kStream };

struct NamingPayload {
  Object object;
  std::uint32_t id;       ///< Id of the object: a pid, tid, device, context or stream.
  std::uint32_t context;  ///< Context of a stream.
  std::uint32_t device;   ///< Device of a context or stream.
};

struct ExternalIdPayload {
  std::uint64_t id;           ///< Pushed by the program or by a library in it.
  std::uint32_t correlation;  ///< Correlation id of the call made under this id.
  std::uint32_t kind;         ///< CUpti_ExternalCorrelationKind: which library pushed the id.
};

enum class Severity : std::uint32_t { kInfo, kWarning };

/// Diagnostic message about the recording.
struct MessagePayload {
  std::int64_t value;
  std::uint32_t text;  ///< Name id of a sentence for the user; 0: none.
  Severity severity;
};

/// Names of messages. Counts, bytes and times are increments since the previous message with the
/// same name and text.
namespace message {
inline constexpr char kStarted[] = "cupti_started";           ///< Value: CUPTI's version.
inline constexpr char kUnavailable[] = "cupti_unavailable";   ///< Value: CUPTI's error, or 0.
inline constexpr char kKindRefused[] = "cupti_kind_refused";  ///< Value: CUPTI's error.
inline constexpr char kFailed[] = "cupti_failed";             ///< Value: CUPTI's error.
inline constexpr char kCapture[] = "cupti_capture";           ///< Value: 1 on, 0 off.
/// Value: number of records; `text` names the context and stream.
inline constexpr char kDropped[] = "cupti_dropped_records";
inline constexpr char kUntimed[] = "cupti_untimed_records";  ///< Value: number of records.
inline constexpr char kDiscarded[] =
    "cupti_discarded_bytes";  ///< Value: bytes of records discarded without a buffer.
/// Value: CPU time of Headroom's thread, in ns.
inline constexpr char kWorkerTime[] = "cupti_worker_cpu_ns";
/// Value: CPU time of Headroom's callbacks on other threads, in ns.
inline constexpr char kHandlingTime[] = "cupti_handling_cpu_ns";
}  // namespace message

/// Length of the longest event, in records.
inline constexpr std::size_t kMaxRecords = 6;

template <typename Payload>
inline constexpr std::uint32_t kRecords = sizeof(Payload) / sizeof(headroom_record);

static_assert(sizeof(headroom_record) == 16);
static_assert(sizeof(GpuTaskPayload) == 48 && sizeof(KernelPayload) == 32);
static_assert(sizeof(CallPayload) == 16 && sizeof(OverheadPayload) == 16);
static_assert(sizeof(SyncPayload) == 32 && sizeof(MarkerPayload) == 16);
static_assert(sizeof(NamingPayload) == 16 && sizeof(ExternalIdPayload) == 16);
static_assert(sizeof(MessagePayload) == 16);
static_assert(1 + kRecords<GpuTaskPayload> + kRecords<KernelPayload> == kMaxRecords);

/// Instructions of the recorder to a producer, in the ring's header after headroom_ring.
struct Control {
  /// (atomic) 1 while the wanted steps run, else 0. The producer reads it every 10 ms if a step
  /// window is set (HEADROOM_STEPS).
  std::uint32_t capture;
};
inline constexpr std::size_t kControlOffset = 1024;
static_assert(kControlOffset >= sizeof(headroom_ring) &&
              kControlOffset + sizeof(Control) <= HEADROOM_RING_HEADER_BYTES);

inline Control* ControlOf(headroom_ring* ring) {
  return reinterpret_cast<Control*>(reinterpret_cast<char*>(ring) + kControlOffset);
}

}  // namespace headroom::activity
