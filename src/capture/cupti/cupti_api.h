// The part of NVIDIA's CUPTI that Headroom uses, declared here so that Headroom builds without it.
// The library is opened at run time (cupti/library.h). If its headers are installed, a test
// compares these declarations with them (tests/cupti/headers_test.cc).
//
// Records. A CUDA version may bring a new version of a record, which keeps the earlier fields and
// appends to them. An incompatible version would have a new kind or library. Each struct here has
// the fields that all CUPTI versions since kOldestVersion share, up to the last that Headroom
// reads. Headroom never uses the size of a record, because cuptiActivityGetNextRecord steps over
// records:
//
//   here       versions that begin with it              since CUDA
//   Kernel     CUpti_ActivityKernel6, 7, 8, 9, 10       11.2, 11.6, 11.8, 12.0, 13.0
//   Memcpy     CUpti_ActivityMemcpy4, 5, 6              11.1, 11.6, 12.8
//   PeerCopy   CUpti_ActivityMemcpyPtoP3, 4             11.1, 11.6
//   Memset     CUpti_ActivityMemset3, 4                 11.1, 11.6
//   Api        CUpti_ActivityAPI                        all
//   Overhead   CUpti_ActivityOverhead, 2, 3             all
//   Sync       CUpti_ActivitySynchronization, 2         all, 12.8
//   Marker     CUpti_ActivityMarker2                    all
//   NameRecord CUpti_ActivityName                       all
//   ExternalCorrelation                                 all
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::cupti {

/// API version of CUDA 11.2. Earlier records have no graph nodes, and the first use could hang for
/// seconds.
inline constexpr std::uint32_t kOldestVersion = 15;

/// CUptiResult.
enum Result : std::int32_t {
  kSuccess = 0,
  kMaxLimitReached = 12,
  kInvalidKind = 21,  ///< A record that is not complete.
  kInsufficientPrivileges = 35,
  kMultipleSubscribers = 39,
  kVirtualInsufficientPrivileges = 40,
  kUnknownError = 999,
};

/// CUpti_ActivityKind. Headroom never uses KERNEL (3), which serializes kernels, or GRAPH_TRACE
/// (51), which hides the kernels of a graph.
enum ActivityKind : std::int32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
  kName = 11,
  kMarker = 12,
  kOverhead = 17,
  kPeerCopy = 22,
  kSynchronization = 38,
  kExternalCorrelation = 39,
};

/// CUpti_ActivityAttribute.
enum Attribute : std::int32_t {
  kDeviceBufferPoolLimit = 2,
  kZeroedOutActivityBuffer = 5,
};

/// CUpti_ActivityThreadIdType: kernel thread ids, not pthread_self().
inline constexpr std::int32_t kThreadIdTypeSystem = 1;

/// CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: also returns incomplete records.
inline constexpr std::uint32_t kFlushForced = 1;

/// CUpti_ActivityFlag for markers.
enum MarkerFlag : std::uint32_t { kMarkerInstantaneous = 1, kMarkerStart = 2, kMarkerEnd = 4 };

/// CUpti_CallbackDomain.
enum Domain : std::int32_t {
  kDriverApi = 1,
  kRuntimeApi = 2,
  kResource = 3,
  kState = 6,
};

/// Callback ids of the driver, the runtime, resources and states.
inline constexpr std::uint32_t kCuProfilerStart = 308;
inline constexpr std::uint32_t kCuProfilerStop = 309;
inline constexpr std::uint32_t kCudaDeviceReset = 164;
inline constexpr std::uint32_t kContextDestroyStarting = 2;
inline constexpr std::uint32_t kStateFatalError = 1;

/// CUpti_ApiCallbackSite.
inline constexpr std::int32_t kApiEnter = 0;
inline constexpr std::int32_t kApiExit = 1;

// --- records -------------------------------------------------------------------------------------

// NVIDIA packs records and aligns them to 8 bytes.
#define HEADROOM_CUPTI_RECORD __attribute__((packed, aligned(8)))

struct HEADROOM_CUPTI_RECORD Activity {
  ActivityKind kind;
};

struct HEADROOM_CUPTI_RECORD Kernel {
  ActivityKind kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers_per_thread;
  std::int32_t cache_requested, cache_executed;
  std::uint64_t start, end, completed;
  std::uint32_t device_id, context_id, stream_id;
  std::int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  std::int32_t static_shared_memory, dynamic_shared_memory;
  std::uint32_t local_memory_per_thread, local_memory_total;
  std::uint32_t correlation_id;
  std::int64_t grid_id;
  const char* name;
  void* reserved0;
  std::uint64_t queued, submitted;
  std::uint8_t launch_type, carveout_requested, carveout, padding;
  std::uint32_t shared_memory_executed;
  std::uint64_t graph_node_id;
};

struct HEADROOM_CUPTI_RECORD Memcpy {
  ActivityKind kind;
  std::uint8_t copy_kind, src_kind, dst_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device_id, context_id, stream_id;
  std::uint32_t correlation_id, runtime_correlation_id, pad;
  void* reserved0;
  std::uint64_t graph_node_id;
};

struct HEADROOM_CUPTI_RECORD PeerCopy {
  ActivityKind kind;
  std::uint8_t copy_kind, src_kind, dst_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device_id, context_id, stream_id;
  std::uint32_t src_device_id, src_context_id, dst_device_id, dst_context_id;
  std::uint32_t correlation_id;
  void* reserved0;
  std::uint64_t graph_node_id;
};

struct HEADROOM_CUPTI_RECORD Memset {
  ActivityKind kind;
  std::uint32_t value;
  std::uint64_t bytes, start, end;
  std::uint32_t device_id, context_id, stream_id, correlation_id;
  std::uint16_t flags, memory_kind;
  std::uint32_t pad;
  void* reserved0;
  std::uint64_t graph_node_id;
};

struct HEADROOM_CUPTI_RECORD Api {
  ActivityKind kind;
  std::uint32_t cbid;
  std::uint64_t start, end;
  std::uint32_t process_id, thread_id, correlation_id, return_value;
};

/// CUpti_ActivityObjectKindId: a process or thread uses the first two fields, other objects all
/// three.
struct ObjectId {
  std::uint32_t process_or_device, thread_or_context, stream;
};

struct HEADROOM_CUPTI_RECORD Overhead {
  ActivityKind kind;
  std::uint32_t overhead_kind, object_kind;
  ObjectId object;
  std::uint64_t start, end;
};

/// Stream and event are activity::SyncPayload::kNone if they do not apply.
struct HEADROOM_CUPTI_RECORD Sync {
  ActivityKind kind;
  std::uint32_t type;
  std::uint64_t start, end;
  std::uint32_t correlation_id, context_id, stream_id, event_id;
};

struct HEADROOM_CUPTI_RECORD Marker {
  ActivityKind kind;
  std::uint32_t flags;
  std::uint64_t timestamp;
  std::uint32_t id, object_kind;
  ObjectId object;
  std::uint32_t pad;
  const char* name;  ///< Null at the end of a range.
  const char* domain;
};

struct HEADROOM_CUPTI_RECORD NameRecord {
  ActivityKind kind;
  std::uint32_t object_kind;
  ObjectId object;
  std::uint32_t pad;
  const char* name;
};

struct HEADROOM_CUPTI_RECORD ExternalCorrelation {
  ActivityKind kind;
  std::uint32_t external_kind;
  std::uint64_t external_id;
  std::uint32_t correlation_id, reserved;
};

#undef HEADROOM_CUPTI_RECORD

// --- callbacks -----------------------------------------------------------------------------------

/// CUcontext.
using Context = void*;

/// First fields of CUpti_CallbackData.
struct CallbackData {
  std::int32_t site;
};

/// First fields of CUpti_StateData.
struct StateData {
  Result result;
  const char* message;
};

/// CUpti_SubscriberParams.
struct SubscriberParams {
  std::size_t size;
  const char* name;
  char* other_name;  ///< Name of CUPTI's current client.
  std::size_t other_size;
};

using Subscriber = void*;
using Callback = void (*)(void* user, Domain domain, std::uint32_t id, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
using BufferCompleted = void (*)(Context context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t size, std::size_t valid);
using Timestamp = std::uint64_t (*)();

/// Entry points: F(name here, symbol without "cupti", parameters). All return a Result. Every
/// version since kOldestVersion has them.
#define HEADROOM_CUPTI_ENTRY_POINTS(F)                                                   \
  F(get_version, GetVersion, (std::uint32_t*))                                           \
  F(get_result_string, GetResultString, (Result, const char**))                          \
  F(get_timestamp, GetTimestamp, (std::uint64_t*))                                       \
  F(get_context_id, GetContextId, (Context, std::uint32_t*))                             \
  F(get_callback_name, GetCallbackName, (Domain, std::uint32_t, const char**))           \
  F(subscribe, Subscribe, (Subscriber*, Callback, void*))                                \
  F(unsubscribe, Unsubscribe, (Subscriber))                                              \
  F(enable_callback, EnableCallback, (std::uint32_t, Subscriber, Domain, std::uint32_t)) \
  F(set_thread_id_type, SetThreadIdType, (std::int32_t))                                 \
  F(set_attribute, ActivitySetAttribute, (Attribute, std::size_t*, void*))               \
  F(register_callbacks, ActivityRegisterCallbacks, (BufferRequested, BufferCompleted))   \
  F(enable, ActivityEnable, (ActivityKind))                                              \
  F(disable, ActivityDisable, (ActivityKind))                                            \
  F(flush_all, ActivityFlushAll, (std::uint32_t))                                        \
  F(get_next_record, ActivityGetNextRecord, (std::uint8_t*, std::size_t, Activity**))    \
  F(get_dropped_records, ActivityGetNumDroppedRecords, (Context, std::uint32_t, std::size_t*))

/// Entry points of later versions; null if missing.
#define HEADROOM_CUPTI_LATER_ENTRY_POINTS(F)                                                \
  F(register_timestamp_callback, ActivityRegisterTimestampCallback, (Timestamp)) /* 11.6 */ \
  F(enable_driver_api, ActivityEnableDriverApi, (std::uint32_t, std::uint8_t))   /* 12.5 */ \
  F(enable_runtime_api, ActivityEnableRuntimeApi, (std::uint32_t, std::uint8_t)) /* 12.5 */ \
  F(subscribe_v2, Subscribe_v2, (Subscriber*, Callback, void*, SubscriberParams*))

}  // namespace headroom::cupti
