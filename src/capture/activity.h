// What a GPU did, as it stands in a ring of kind HEADROOM_RING_ACTIVITY (headroom/detail/shared.h).
//
// An event is one record, and records of payload after it: `ticks` is its start, `name` what it is
// called, `info` has its kind in the lowest 8 bits and above them the number of payload records. So
// a reader skips what it does not know. Events of one ring are in no order of time: GPU work is
// told when it has ended, and buffers come back as they please.
//
// The payloads below are copied over whole records. Both sides are of one machine. A change of them
// changes HEADROOM_SHARED_VERSION.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headroom/detail/shared.h"

namespace headroom::activity {

/// The lowest 8 bits of headroom_record.info.
enum class Kind : std::uint8_t {
  kGpuTask = HEADROOM_KIND_ACTIVITY,  ///< GpuTaskPayload, and KernelPayload for a kernel.
  kRuntimeCall,                       ///< CallPayload.
  kDriverCall,                        ///< CallPayload.
  kOverhead,                          ///< OverheadPayload.
  kSync,                              ///< SyncPayload.
  kMarker,                            ///< MarkerPayload; `name` 0 at an end.
  kNaming,                            ///< NamingPayload; `name` is what the object is called.
  kExternalId,                        ///< ExternalIdPayload; no time, no name.
  kMessage,                           ///< MessagePayload; `name` is one of message:: below.
};

/// What kind of work a GPU task is.
enum class Work : std::uint8_t { kKernel = 1, kMemcpy = 2, kMemset = 3 };

struct GpuTaskPayload {
  std::uint64_t end;  ///< Ticks.
  std::uint32_t correlation;
  std::uint16_t device;
  Work work;
  std::uint8_t copy;  ///< Of a memcpy: from where to where, as CUPTI numbers it (CopyText()).
  std::uint32_t stream;
  std::uint32_t context;
  std::uint64_t graph_node;  ///< Of a CUDA graph; 0: none.
  std::uint64_t bytes;       ///< Copied or set; 0 for a kernel.
  std::uint64_t reserved;
};

struct KernelPayload {
  std::uint32_t grid[3], block[3];
  std::uint32_t registers;      ///< A thread.
  std::uint32_t shared_memory;  ///< Bytes a block, static and dynamic.
};

struct CallPayload {
  std::uint64_t end;
  std::uint32_t tid;
  std::uint32_t correlation;
};

struct OverheadPayload {
  std::uint64_t end;
  std::uint32_t tid;  ///< 0: of no thread.
  std::uint32_t reserved;
};

struct SyncPayload {
  std::uint64_t end;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;  ///< kNone: of no stream.
  std::uint32_t event;   ///< kNone: of no event.
  std::uint64_t reserved;
  static constexpr std::uint32_t kNone = UINT32_MAX;
};

enum class Phase : std::uint32_t { kInstant, kBegin, kEnd };

struct MarkerPayload {
  std::uint32_t id;  ///< The same at begin and end.
  Phase phase;
  std::uint32_t tid;
  std::uint32_t domain;  ///< A name; 0: the default domain.
};

/// What has a name.
enum class Object : std::uint32_t { kUnknown, kProcess, kThread, kDevice, kContext, kStream };

struct NamingPayload {
  Object object;
  std::uint32_t id;       ///< Of the object itself: a tid, a device, a context, a stream.
  std::uint32_t context;  ///< Of a stream.
  std::uint32_t device;   ///< Of a context or stream.
};

struct ExternalIdPayload {
  std::uint64_t id;           ///< Pushed by the program, or by a library in it.
  std::uint32_t correlation;  ///< Of the call that was made under it.
  std::uint32_t kind;         ///< CUPTI's: who pushed it.
};

enum class Severity : std::uint32_t { kInfo, kWarning };

/// The recording's report on itself.
struct MessagePayload {
  std::int64_t value;
  std::uint32_t text;  ///< A name: a sentence for people; 0: the value says it all.
  Severity severity;
};

/// What messages say. Amounts are those since the message before with the same name and text.
namespace message {
inline constexpr char kStarted[] = "cupti_started";               ///< Value: CUPTI's version.
inline constexpr char kUnavailable[] = "cupti_unavailable";       ///< Value: CUPTI's error, or 0.
inline constexpr char kKindRefused[] = "cupti_kind_refused";      ///< Value: CUPTI's error.
inline constexpr char kFailed[] = "cupti_failed";                 ///< Value: CUPTI's error.
inline constexpr char kCapture[] = "cupti_capture";               ///< Value: 1 on, 0 off.
inline constexpr char kDropped[] = "cupti_dropped_records";       ///< Value: how many, of `text`.
inline constexpr char kUntimed[] = "cupti_untimed_records";       ///< Value: how many.
inline constexpr char kDiscarded[] = "cupti_discarded_bytes";     ///< Value: beyond the ceiling.
inline constexpr char kWorkerTime[] = "cupti_worker_cpu_ns";      ///< Value: of our own thread.
inline constexpr char kHandlingTime[] = "cupti_handling_cpu_ns";  ///< Value: on other threads.
}  // namespace message

/// The longest event.
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

/// What the recorder tells a producer: in the ring's header, behind headroom_ring.
struct Control {
  /// (atomic) Whether the steps that are wanted run now: 1 yes, 0 no. Read where a step window is
  /// set (HEADROOM_STEPS), every 10 ms.
  std::uint32_t capture;
};
inline constexpr std::size_t kControlOffset = 1024;
static_assert(kControlOffset >= sizeof(headroom_ring) &&
              kControlOffset + sizeof(Control) <= HEADROOM_RING_HEADER_BYTES);

inline Control* ControlOf(headroom_ring* ring) {
  return reinterpret_cast<Control*>(reinterpret_cast<char*>(ring) + kControlOffset);
}

}  // namespace headroom::activity
