// Compares our declarations of CUPTI with NVIDIA's, field by field, in every version of a record
// that the headers still have. Compiled if the headers are installed. The test is that it compiles.
#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include "capture/activity.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/library.h"
#include "capture/cupti/noisy_calls.h"

namespace ours = headroom::cupti;

// --- numbers -------------------------------------------------------------------------------------

static_assert(ours::kSuccess == int{CUPTI_SUCCESS});
static_assert(ours::kMaxLimitReached == int{CUPTI_ERROR_MAX_LIMIT_REACHED});
static_assert(ours::kInvalidKind == int{CUPTI_ERROR_INVALID_KIND});
static_assert(ours::kInsufficientPrivileges == int{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES});
static_assert(ours::kMultipleSubscribers == int{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED});
static_assert(ours::kVirtualInsufficientPrivileges ==
              int{CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES});
static_assert(ours::kUnknownError == int{CUPTI_ERROR_UNKNOWN});

static_assert(ours::kMemcpy == int{CUPTI_ACTIVITY_KIND_MEMCPY});
static_assert(ours::kMemset == int{CUPTI_ACTIVITY_KIND_MEMSET});
static_assert(ours::kDriver == int{CUPTI_ACTIVITY_KIND_DRIVER});
static_assert(ours::kRuntime == int{CUPTI_ACTIVITY_KIND_RUNTIME});
static_assert(ours::kConcurrentKernel == int{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
static_assert(ours::kName == int{CUPTI_ACTIVITY_KIND_NAME});
static_assert(ours::kMarker == int{CUPTI_ACTIVITY_KIND_MARKER});
static_assert(ours::kOverhead == int{CUPTI_ACTIVITY_KIND_OVERHEAD});
static_assert(ours::kPeerCopy == int{CUPTI_ACTIVITY_KIND_MEMCPY2});
static_assert(ours::kSynchronization == int{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
static_assert(ours::kExternalCorrelation == int{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});

static_assert(ours::kDeviceBufferPoolLimit == int{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT});
static_assert(ours::kZeroedOutActivityBuffer ==
              int{CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER});
static_assert(ours::kThreadIdTypeSystem == int{CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM});
static_assert(ours::kFlushForced == unsigned{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED});
static_assert(ours::kMarkerInstantaneous == unsigned{CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS});
static_assert(ours::kMarkerStart == unsigned{CUPTI_ACTIVITY_FLAG_MARKER_START});
static_assert(ours::kMarkerEnd == unsigned{CUPTI_ACTIVITY_FLAG_MARKER_END});

static_assert(ours::kDriverApi == int{CUPTI_CB_DOMAIN_DRIVER_API});
static_assert(ours::kRuntimeApi == int{CUPTI_CB_DOMAIN_RUNTIME_API});
static_assert(ours::kResource == int{CUPTI_CB_DOMAIN_RESOURCE});
static_assert(ours::kState == int{CUPTI_CB_DOMAIN_STATE});
static_assert(ours::kCuProfilerStart == int{CUPTI_DRIVER_TRACE_CBID_cuProfilerStart});
static_assert(ours::kCuProfilerStop == int{CUPTI_DRIVER_TRACE_CBID_cuProfilerStop});
static_assert(ours::kCudaDeviceReset == int{CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020});
static_assert(ours::kContextDestroyStarting == int{CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING});
static_assert(ours::kStateFatalError == int{CUPTI_CBID_STATE_FATAL_ERROR});
static_assert(ours::kApiEnter == int{CUPTI_API_ENTER} && ours::kApiExit == int{CUPTI_API_EXIT});

// The ring keeps CUPTI's numbers.
static_assert(headroom::activity::SyncPayload::kNone == CUPTI_SYNCHRONIZATION_INVALID_VALUE);
static_assert(int(headroom::activity::Object::kThread) == int{CUPTI_ACTIVITY_OBJECT_THREAD});
static_assert(int(headroom::activity::Object::kStream) == int{CUPTI_ACTIVITY_OBJECT_STREAM});
static_assert(int{CUPTI_ACTIVITY_MEMCPY_KIND_PTOP} == 10);
static_assert(int{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER} == 1);
static_assert(int{CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT} == 8 << 16);
static_assert(int{CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE} == 4);
static_assert(int{CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC} == 7);

// --- records -------------------------------------------------------------------------------------

#define SAME(our, our_field, theirs, their_field)                                  \
  static_assert(offsetof(ours::our, our_field) == offsetof(theirs, their_field) && \
                    sizeof(ours::our::our_field) == sizeof(theirs::their_field),   \
                #our "." #our_field " is not where " #theirs "." #their_field " is")

#define SAME_KERNEL(theirs)                                         \
  SAME(Kernel, kind, theirs, kind);                                 \
  SAME(Kernel, registers_per_thread, theirs, registersPerThread);   \
  SAME(Kernel, start, theirs, start);                               \
  SAME(Kernel, end, theirs, end);                                   \
  SAME(Kernel, device_id, theirs, deviceId);                        \
  SAME(Kernel, context_id, theirs, contextId);                      \
  SAME(Kernel, stream_id, theirs, streamId);                        \
  SAME(Kernel, grid_x, theirs, gridX);                              \
  SAME(Kernel, grid_y, theirs, gridY);                              \
  SAME(Kernel, grid_z, theirs, gridZ);                              \
  SAME(Kernel, block_x, theirs, blockX);                            \
  SAME(Kernel, block_y, theirs, blockY);                            \
  SAME(Kernel, block_z, theirs, blockZ);                            \
  SAME(Kernel, static_shared_memory, theirs, staticSharedMemory);   \
  SAME(Kernel, dynamic_shared_memory, theirs, dynamicSharedMemory); \
  SAME(Kernel, correlation_id, theirs, correlationId);              \
  SAME(Kernel, name, theirs, name);                                 \
  SAME(Kernel, graph_node_id, theirs, graphNodeId);                 \
  static_assert(alignof(ours::Kernel) == alignof(theirs) && sizeof(ours::Kernel) <= sizeof(theirs))

SAME_KERNEL(CUpti_ActivityKernel6);
SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
#if CUPTI_API_VERSION >= 130000
SAME_KERNEL(CUpti_ActivityKernel10);
#endif

#define SAME_MEMCPY(our, theirs)                    \
  SAME(our, kind, theirs, kind);                    \
  SAME(our, copy_kind, theirs, copyKind);           \
  SAME(our, src_kind, theirs, srcKind);             \
  SAME(our, dst_kind, theirs, dstKind);             \
  SAME(our, bytes, theirs, bytes);                  \
  SAME(our, start, theirs, start);                  \
  SAME(our, end, theirs, end);                      \
  SAME(our, device_id, theirs, deviceId);           \
  SAME(our, context_id, theirs, contextId);         \
  SAME(our, stream_id, theirs, streamId);           \
  SAME(our, correlation_id, theirs, correlationId); \
  SAME(our, graph_node_id, theirs, graphNodeId);    \
  static_assert(sizeof(ours::our) <= sizeof(theirs))

SAME_MEMCPY(Memcpy, CUpti_ActivityMemcpy4);
SAME_MEMCPY(Memcpy, CUpti_ActivityMemcpy5);
#if CUPTI_API_VERSION >= 26
SAME_MEMCPY(Memcpy, CUpti_ActivityMemcpy6);
#endif
SAME_MEMCPY(PeerCopy, CUpti_ActivityMemcpyPtoP3);
SAME_MEMCPY(PeerCopy, CUpti_ActivityMemcpyPtoP4);

#define SAME_MEMSET(theirs)                            \
  SAME(Memset, kind, theirs, kind);                    \
  SAME(Memset, bytes, theirs, bytes);                  \
  SAME(Memset, start, theirs, start);                  \
  SAME(Memset, end, theirs, end);                      \
  SAME(Memset, device_id, theirs, deviceId);           \
  SAME(Memset, context_id, theirs, contextId);         \
  SAME(Memset, stream_id, theirs, streamId);           \
  SAME(Memset, correlation_id, theirs, correlationId); \
  SAME(Memset, memory_kind, theirs, memoryKind);       \
  SAME(Memset, graph_node_id, theirs, graphNodeId);    \
  static_assert(sizeof(ours::Memset) <= sizeof(theirs))

SAME_MEMSET(CUpti_ActivityMemset3);
SAME_MEMSET(CUpti_ActivityMemset4);

SAME(Api, kind, CUpti_ActivityAPI, kind);
SAME(Api, cbid, CUpti_ActivityAPI, cbid);
SAME(Api, start, CUpti_ActivityAPI, start);
SAME(Api, end, CUpti_ActivityAPI, end);
SAME(Api, thread_id, CUpti_ActivityAPI, threadId);
SAME(Api, correlation_id, CUpti_ActivityAPI, correlationId);
static_assert(sizeof(ours::Api) == sizeof(CUpti_ActivityAPI));

#define SAME_OVERHEAD(theirs)                          \
  SAME(Overhead, kind, theirs, kind);                  \
  SAME(Overhead, overhead_kind, theirs, overheadKind); \
  SAME(Overhead, object_kind, theirs, objectKind);     \
  SAME(Overhead, object, theirs, objectId);            \
  SAME(Overhead, start, theirs, start);                \
  SAME(Overhead, end, theirs, end);                    \
  static_assert(sizeof(ours::Overhead) <= sizeof(theirs))

SAME_OVERHEAD(CUpti_ActivityOverhead);
#if CUPTI_API_VERSION >= 130000
SAME_OVERHEAD(CUpti_ActivityOverhead2);
SAME_OVERHEAD(CUpti_ActivityOverhead3);
#endif

#define SAME_SYNC(theirs)                            \
  SAME(Sync, kind, theirs, kind);                    \
  SAME(Sync, type, theirs, type);                    \
  SAME(Sync, start, theirs, start);                  \
  SAME(Sync, end, theirs, end);                      \
  SAME(Sync, correlation_id, theirs, correlationId); \
  SAME(Sync, context_id, theirs, contextId);         \
  SAME(Sync, stream_id, theirs, streamId);           \
  SAME(Sync, event_id, theirs, cudaEventId);         \
  static_assert(sizeof(ours::Sync) <= sizeof(theirs))

SAME_SYNC(CUpti_ActivitySynchronization);
#if CUPTI_API_VERSION >= 26
SAME_SYNC(CUpti_ActivitySynchronization2);
#endif

SAME(Marker, kind, CUpti_ActivityMarker2, kind);
SAME(Marker, flags, CUpti_ActivityMarker2, flags);
SAME(Marker, timestamp, CUpti_ActivityMarker2, timestamp);
SAME(Marker, id, CUpti_ActivityMarker2, id);
SAME(Marker, object_kind, CUpti_ActivityMarker2, objectKind);
SAME(Marker, object, CUpti_ActivityMarker2, objectId);
SAME(Marker, name, CUpti_ActivityMarker2, name);
SAME(Marker, domain, CUpti_ActivityMarker2, domain);
static_assert(sizeof(ours::Marker) == sizeof(CUpti_ActivityMarker2));

SAME(NameRecord, kind, CUpti_ActivityName, kind);
SAME(NameRecord, object_kind, CUpti_ActivityName, objectKind);
SAME(NameRecord, object, CUpti_ActivityName, objectId);
SAME(NameRecord, name, CUpti_ActivityName, name);
static_assert(sizeof(ours::NameRecord) == sizeof(CUpti_ActivityName));

SAME(ExternalCorrelation, kind, CUpti_ActivityExternalCorrelation, kind);
SAME(ExternalCorrelation, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
SAME(ExternalCorrelation, external_id, CUpti_ActivityExternalCorrelation, externalId);
SAME(ExternalCorrelation, correlation_id, CUpti_ActivityExternalCorrelation, correlationId);
static_assert(sizeof(ours::ExternalCorrelation) == sizeof(CUpti_ActivityExternalCorrelation));

SAME(ObjectId, process_or_device, CUpti_ActivityObjectKindId, pt.processId);
SAME(ObjectId, thread_or_context, CUpti_ActivityObjectKindId, pt.threadId);
SAME(ObjectId, process_or_device, CUpti_ActivityObjectKindId, dcs.deviceId);
SAME(ObjectId, thread_or_context, CUpti_ActivityObjectKindId, dcs.contextId);
SAME(ObjectId, stream, CUpti_ActivityObjectKindId, dcs.streamId);

SAME(CallbackData, site, CUpti_CallbackData, callbackSite);
SAME(StateData, result, CUpti_StateData, notification.result);
SAME(StateData, message, CUpti_StateData, notification.message);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
SAME(SubscriberParams, size, CUpti_SubscriberParams, structSize);
SAME(SubscriberParams, name, CUpti_SubscriberParams, subscriberName);
SAME(SubscriberParams, other_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(SubscriberParams, other_size, CUpti_SubscriberParams, oldSubscriberSize);
static_assert(sizeof(ours::SubscriberParams) == CUpti_SubscriberParams_STRUCT_SIZE);
#endif

namespace {

// --- entry points: as many parameters, of the same sizes -----------------------------------------

template <typename Ours, typename Theirs>
constexpr bool kSameCall = false;
template <typename... Ours, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) constexpr bool kSameCall<ours::Result (*)(Ours...),
                                                     CUptiResult (*)(Theirs...)> =
    ((sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...);

#define SAME_CALL(name, symbol, parameters) \
  static_assert(kSameCall<decltype(ours::Library::name), decltype(&cupti##symbol)>);
HEADROOM_CUPTI_ENTRY_POINTS(SAME_CALL)
#if CUPTI_API_VERSION >= 130000
HEADROOM_CUPTI_LATER_ENTRY_POINTS(SAME_CALL)
#endif

// --- callback ids --------------------------------------------------------------------------------

TEST(CuptiHeaders, NoisyCallsAreTheCallsThatTheirCommentsName) {
  const std::uint32_t runtime[] = {
      CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaGetErrorString_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaFuncGetAttributes_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaPointerGetAttributes_v4000,
      CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
      CUPTI_RUNTIME_TRACE_CBID_cudaGetErrorName_v6050,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v10010,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_ptsz_v10010,
      CUPTI_RUNTIME_TRACE_CBID_cudaThreadExchangeStreamCaptureMode_v10010,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_v11030,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_ptsz_v11030,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v12030,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_ptsz_v12030};
  EXPECT_TRUE(std::equal(std::begin(runtime), std::end(runtime),
                         std::begin(ours::kNoisyRuntimeCalls), std::end(ours::kNoisyRuntimeCalls)));
  const std::uint32_t driver[] = {CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxPushCurrent,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxPopCurrent,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice,
                                  CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
                                  CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttribute,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxPushCurrent_v2,
                                  CUPTI_DRIVER_TRACE_CBID_cuCtxPopCurrent_v2,
                                  CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState,
                                  CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttributes,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCtx,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCtx_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuThreadExchangeStreamCaptureMode,
                                  CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_v2,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_v2_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2,
                                  CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
                                  CUPTI_DRIVER_TRACE_CBID_cuFuncGetName,
                                  CUPTI_DRIVER_TRACE_CBID_cuKernelGetName,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_v3,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamGetCaptureInfo_v3_ptsz};
  EXPECT_TRUE(std::equal(std::begin(driver), std::end(driver), std::begin(ours::kNoisyDriverCalls),
                         std::end(ours::kNoisyDriverCalls)));
}

}  // namespace
