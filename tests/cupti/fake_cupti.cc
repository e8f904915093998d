// A libcupti without a GPU: the entry points that Headroom uses. fake_cupti.h controls it, and
// these variables:
//
//   FAKE_CUPTI_VERSION        the API version (13.0's by default)
//   FAKE_CUPTI_SUBSCRIBE      the result of cuptiSubscribe
//   FAKE_CUPTI_ENABLE_<kind>  the result of enabling that kind
//   FAKE_CUPTI_TIMESTAMP      the result of registering the timestamp callback
//   FAKE_CUPTI_BUFFER_LIMIT   bytes that the fake uses per buffer; a lower limit makes more buffers
//   FAKE_CUPTI_CHECK_ZERO     1: counts the bytes of new buffers that are not zero
//   FAKE_CUPTI_LOG            file that gets counts of the requests when the process ends
//
// Built a second time with FAKE_CUPTI_OLD, as a library without functions after CUDA 11.2.
#include "fake_cupti.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/cupti/cupti_api.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace headroom::cupti;  // NOLINT(google-build-using-namespace): this file replaces CUPTI.

namespace {

struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t size = 0, used = 0;
  enum { kComplete, kAtForcedFlush, kAtEnd } when = kComplete;
};

struct Fake {
  std::mutex mutex;  // Not held during callbacks, because CUPTI calls them on many threads.
  Callback callback = nullptr;
  void* callback_user = nullptr;
  BufferRequested requested = nullptr;
  BufferCompleted completed = nullptr;
  Timestamp timestamp = nullptr;
  std::set<int> kinds;
  std::set<std::pair<int, std::uint32_t>> callbacks, calls_off;
  std::deque<Buffer> buffers;  // The last one is being filled.
  decltype(Buffer::when) when = Buffer::kComplete;
  bool backwards = false;
  std::map<std::string, long> counts;
  std::uint64_t now = 0, begin = 0;
  std::uint32_t correlation = 0, marker = 0;
  std::size_t lost = 0;
  std::uint64_t behind = 0;
  std::vector<Kernel> queue;  // Launched and still to run. REQUIRES: the lock.
};

Fake& TheFake() {
  static Fake* fake = new Fake;  // Still used after static objects are destroyed.
  return *fake;
}

long Setting(const std::string& name, long otherwise) {
  const char* text = std::getenv(("FAKE_CUPTI_" + name).c_str());
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

void Count(const std::string& what, long by = 1) {
  const std::lock_guard lock(TheFake().mutex);
  TheFake().counts[what] += by;
}

/// CLOCK_REALTIME, CUPTI's default.
std::uint64_t RealTime() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::size_t SizeOf(const Activity& record) {
  switch (record.kind) {
    case kConcurrentKernel:
      return sizeof(Kernel) + 64;  // Fields of later versions, which Headroom does not read.
    case kMemcpy:
      return sizeof(Memcpy) + 16;
    case kPeerCopy:
      return sizeof(PeerCopy) + 16;
    case kMemset:
      return sizeof(Memset) + 16;
    case kRuntime:
    case kDriver:
      return sizeof(Api);
    case kOverhead:
      return sizeof(Overhead) + 16;
    case kSynchronization:
      return sizeof(Sync) + 16;
    case kMarker:
      return sizeof(Marker);
    case kName:
      return sizeof(NameRecord);
    case kExternalCorrelation:
      return sizeof(ExternalCorrelation);
  }
  return 0;
}

/// Requests a new buffer from the client. REQUIRES: the lock is held. Releases it during the
/// request.
void AddBuffer(std::size_t needed, std::unique_lock<std::mutex>& lock) {
  Fake& fake = TheFake();
  Buffer buffer;
  buffer.when = fake.when;
  lock.unlock();
  std::size_t most = 0;
  fake.requested(&buffer.data, &buffer.size, &most);
  if (buffer.data == nullptr || buffer.size < needed) _exit(66);  // Like CUPTI before 12.9.
  Count("buffers");
  if (buffer.size < (std::size_t{1} << 20)) Count("small_buffers");
  if (Setting("CHECK_ZERO", 0) != 0)
    Count("bytes_not_zero", static_cast<long>(std::count_if(buffer.data, buffer.data + buffer.size,
                                                            [](int byte) { return byte != 0; })));
  buffer.size = std::min(buffer.size, static_cast<std::size_t>(Setting("BUFFER_LIMIT", 1L << 30)));
  lock.lock();
  fake.buffers.push_back(buffer);
}

template <typename Record>
void Put(const Record& record) {
  Fake& fake = TheFake();
  std::unique_lock lock(fake.mutex);
  if (fake.kinds.count(record.kind) == 0) return;
  const std::size_t size = SizeOf(reinterpret_cast<const Activity&>(record));
  while (fake.buffers.empty() || fake.buffers.back().used + size > fake.buffers.back().size ||
         fake.buffers.back().when != fake.when) {
    AddBuffer(size, lock);
  }
  Buffer& buffer = fake.buffers.back();
  std::memset(buffer.data + buffer.used, 0x5a, size);
  std::memcpy(buffer.data + buffer.used, &record, sizeof record);
  buffer.used += size;
}

/// Returns to the client all buffers whose `when` is at most `most`.
void Complete(decltype(Buffer::when) most) {
  Fake& fake = TheFake();
  std::vector<Buffer> ready;
  {
    const std::lock_guard lock(fake.mutex);
    std::deque<Buffer> rest;
    for (const Buffer& buffer : fake.buffers) {
      if (buffer.when <= most) {
        ready.push_back(buffer);
      } else {
        rest.push_back(buffer);
      }
    }
    fake.buffers = std::move(rest);
    if (fake.backwards) std::reverse(ready.begin(), ready.end());
  }
  for (const Buffer& buffer : ready)
    fake.completed(nullptr, 0, buffer.data, buffer.size, buffer.used);
}

std::uint32_t Tid() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

void PutCall(ActivityKind kind, std::uint32_t cbid, std::uint64_t start, std::uint64_t end,
             std::uint32_t correlation) {
  Fake& fake = TheFake();
  {
    const std::lock_guard lock(fake.mutex);
    if (fake.calls_off.count({kind, cbid}) > 0) return;
  }
  Put(Api{.kind = kind,
          .cbid = cbid,
          .start = start,
          .end = end,
          .process_id = static_cast<std::uint32_t>(getpid()),
          .thread_id = Tid(),
          .correlation_id = correlation,
          .return_value = 0});
}

void PutKernel(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t correlation,
               std::uint64_t node) {
  Kernel kernel{};
  kernel.kind = kConcurrentKernel;
  kernel.start = start;
  kernel.end = end;
  kernel.device_id = 1;
  kernel.context_id = 1;
  kernel.stream_id = 7;
  kernel.grid_x = 70000;
  kernel.grid_y = 2;
  kernel.grid_z = 3;
  kernel.block_x = 128;
  kernel.block_y = kernel.block_z = 1;
  kernel.registers_per_thread = 40;
  kernel.static_shared_memory = 1024;
  kernel.dynamic_shared_memory = 48;
  kernel.correlation_id = correlation;
  kernel.name = name;
  kernel.graph_node_id = node;
  Fake& fake = TheFake();
  if (fake.behind == 0) return Put(kernel);
  kernel.start += fake.behind;
  kernel.end += fake.behind;
  const std::lock_guard lock(fake.mutex);
  fake.queue.push_back(kernel);
}

std::uint64_t TimeOfRecords() {
  const Fake& fake = TheFake();
  return fake.timestamp != nullptr ? fake.timestamp() : RealTime();
}

/// Runs the kernels that have reached their time.
void PutQueue() {
  Fake& fake = TheFake();
  std::vector<Kernel> ran;
  {
    const std::lock_guard lock(fake.mutex);
    const auto runs = std::partition(fake.queue.begin(), fake.queue.end(),
                                     [](const Kernel& k) { return k.end > TimeOfRecords(); });
    ran.assign(runs, fake.queue.end());
    fake.queue.erase(runs, fake.queue.end());
  }
  for (const Kernel& kernel : ran) Put(kernel);
}

constexpr std::uint32_t kCudaGetDevice = 17, kCudaMemcpyAsync = 41, kCudaMemsetAsync = 51,
                        kCudaStreamSynchronize = 131, kCudaLaunchKernel = 211,
                        kCudaGraphLaunch = 311, kCuLaunchKernel = 307;
// at::native::add(int) and headroom_test::scale<float>(float*).
constexpr const char* kKernelNames[] = {"_ZN2at6native3addEi", "_ZN13headroom_test5scaleIfEEvPT_",
                                        "triton_poi_fused_add_0"};

void Launch(bool by_runtime) {
  Fake& fake = TheFake();
  const std::uint32_t correlation = ++fake.correlation;
  const std::uint64_t t = fake.now;
  // Writes the calls in the order of their ends.
  PutCall(kDriver, kCuLaunchKernel, t + 10, t + 90, correlation);
  if (by_runtime) PutCall(kRuntime, kCudaLaunchKernel, t, t + 100, correlation);
  PutKernel(kKernelNames[correlation % 3], t + 200, t + 700, correlation, 0);
  fake.now += 1000;
}

void Call(Domain domain, std::uint32_t id, const void* data) {
  const Fake& fake = TheFake();
  if (fake.callbacks.count({domain, id}) == 0) return;
  fake.callback(fake.callback_user, domain, id, data);
}

void CallApi(Domain domain, std::uint32_t id) {
  for (const std::int32_t site : {kApiEnter, kApiExit}) {
    const CallbackData data{.site = site};
    Call(domain, id, &data);
  }
}

__attribute__((destructor)) void EndOfProcess() {
  Fake& fake = TheFake();
  if (fake.completed != nullptr) Complete(Buffer::kAtEnd);
  const char* path = std::getenv("FAKE_CUPTI_LOG");
  std::FILE* log = path == nullptr ? nullptr : std::fopen(path, "we");
  if (log == nullptr) return;
  for (const auto& [what, count] : fake.counts) std::fprintf(log, "%s %ld\n", what.c_str(), count);
  std::fprintf(log, "begin %llu\n", static_cast<unsigned long long>(fake.begin));
  std::fclose(log);
}

}  // namespace

FAKE_EXPORT int FakeCuptiDo(const char* command, std::uint64_t number) {
  Fake& fake = TheFake();
  if (fake.now == 0) fake.begin = fake.now = TimeOfRecords();
  const std::string what = command;
  if (what == "launch" || what == "driver") {
    for (std::uint64_t i = 0; i < number; ++i) Launch(what == "launch");
  } else if (what == "zero") {
    for (std::uint64_t i = 0; i < number; ++i)
      PutKernel(kKernelNames[0], 0, 0, ++fake.correlation, 0);
  } else if (what == "graph") {
    const std::uint32_t correlation = ++fake.correlation;
    PutCall(kRuntime, kCudaGraphLaunch, fake.now, fake.now + 100, correlation);
    for (std::uint64_t i = 0; i < number; ++i) {
      PutKernel(kKernelNames[i % 3], fake.now + 200 + i * 10, fake.now + 205 + i * 10, correlation,
                (std::uint64_t{5} << 32) + i);
    }
    fake.now += 1000 + number * 10;
  } else if (what == "copy") {
    Memcpy copy{};
    copy.kind = kMemcpy;
    copy.copy_kind = 1;
    copy.src_kind = 2;
    copy.dst_kind = 3;
    copy.bytes = number;
    copy.start = fake.now + 200;
    copy.end = fake.now + 300;
    copy.device_id = 1;
    copy.context_id = 1;
    copy.stream_id = 7;
    copy.correlation_id = ++fake.correlation;
    PutCall(kRuntime, kCudaMemcpyAsync, fake.now, fake.now + 50, fake.correlation);
    Put(copy);
    Memset set{};
    set.kind = kMemset;
    set.bytes = number;
    set.start = fake.now + 300;
    set.end = fake.now + 400;
    set.device_id = 1;
    set.context_id = 1;
    set.stream_id = 7;
    set.memory_kind = 3;
    set.correlation_id = ++fake.correlation;
    PutCall(kRuntime, kCudaMemsetAsync, fake.now + 60, fake.now + 80, fake.correlation);
    Put(set);
    fake.now += 1000;
  } else if (what == "peer") {
    PeerCopy copy{};
    copy.kind = kPeerCopy;
    copy.copy_kind = 10;
    copy.src_kind = copy.dst_kind = 3;
    copy.bytes = number;
    copy.start = fake.now + 200;
    copy.end = fake.now + 300;
    copy.dst_device_id = 1;
    copy.correlation_id = ++fake.correlation;
    copy.graph_node_id = 9;
    Put(copy);
    fake.now += 1000;
  } else if (what == "sync") {
    const std::uint32_t correlation = ++fake.correlation;
    PutCall(kRuntime, kCudaStreamSynchronize, fake.now, fake.now + 500, correlation);
    Put(Sync{.kind = kSynchronization,
             .type = 3,
             .start = fake.now + 10,
             .end = fake.now + 490,
             .correlation_id = correlation,
             .context_id = 1,
             .stream_id = 7,
             .event_id = UINT32_MAX});
    fake.now += 1000;
  } else if (what == "overhead") {
    Put(Overhead{.kind = kOverhead,
                 .overhead_kind = 1u << 16,
                 .object_kind = 2,
                 .object = {static_cast<std::uint32_t>(getpid()), Tid(), 0},
                 .start = fake.now,
                 .end = fake.now + 300});
    Put(Overhead{.kind = kOverhead,
                 .overhead_kind = 7u << 16,
                 .object_kind = 1,
                 .object = {static_cast<std::uint32_t>(getpid()), 0, 0},
                 .start = fake.now + 400,
                 .end = fake.now + 500});
    fake.now += 1000;
  } else if (what == "noise") {
    PutCall(kRuntime, kCudaGetDevice, fake.now, fake.now + 10, ++fake.correlation);
    fake.now += 1000;
  } else if (what == "external") {
    Put(ExternalCorrelation{.kind = kExternalCorrelation,
                            .external_kind = 3,
                            .external_id = number,
                            .correlation_id = fake.correlation + 1,
                            .reserved = 0});
    Launch(true);
  } else if (what == "name") {
    Put(NameRecord{
        .kind = kName, .object_kind = 5, .object = {1, 1, 7}, .pad = 0, .name = "copy engine"});
  } else if (what == "range" || what == "mark") {
    Marker marker{};
    marker.kind = kMarker;
    marker.flags = what == "mark" ? kMarkerInstantaneous : kMarkerStart;
    marker.timestamp = fake.now;
    marker.id = ++fake.marker;
    marker.object_kind = 2;
    marker.object = {static_cast<std::uint32_t>(getpid()), Tid(), 0};
    marker.name = what == "mark" ? "epoch" : "layer::conv1";
    marker.domain = what == "mark" ? nullptr : "torch";
    Put(marker);
    if (what == "range") {
      marker.flags = kMarkerEnd;
      marker.timestamp += 400;
      marker.name = nullptr;
      Put(marker);
    }
    fake.now += 1000;
  } else if (what == "behind") {
    fake.behind = number;
  } else if (what == "now") {
    fake.now = TimeOfRecords();
  } else if (what == "hold") {
    fake.when = Buffer::kAtEnd;
  } else if (what == "incomplete") {
    fake.when = Buffer::kAtForcedFlush;
  } else if (what == "complete") {
    fake.when = Buffer::kComplete;
  } else if (what == "backwards") {
    fake.backwards = true;
  } else if (what == "lose") {
    fake.lost = number;
  } else if (what == "reset") {
    CallApi(kRuntimeApi, kCudaDeviceReset);
  } else if (what == "destroy") {
    Call(kResource, kContextDestroyStarting, nullptr);
  } else if (what == "start") {
    CallApi(kDriverApi, kCuProfilerStart);
  } else if (what == "stop") {
    CallApi(kDriverApi, kCuProfilerStop);
  } else if (what == "fatal") {
    const StateData data{.result = kUnknownError, .message = "the GPU fell off the bus"};
    Call(kState, kStateFatalError, &data);
  } else {
    return 0;
  }
  return 1;
}

// --- CUPTI ---------------------------------------------------------------------------------------

// NOLINTBEGIN(readability-identifier-naming): CUPTI's names.

FAKE_EXPORT Result cuptiGetVersion(std::uint32_t* version) {
#ifdef FAKE_CUPTI_OLD
  *version = static_cast<std::uint32_t>(Setting("VERSION", 15));
#elif defined(FAKE_CUPTI_WITHOUT_DRIVER)
  *version = 0;
#else
  *version = static_cast<std::uint32_t>(Setting("VERSION", 130001));
#endif
  return kSuccess;
}

FAKE_EXPORT Result cuptiGetResultString(Result /*result*/, const char** text) {
  *text = "CUPTI_ERROR_FAKED";
  return kSuccess;
}

FAKE_EXPORT Result cuptiGetTimestamp(std::uint64_t* now) {
  *now = RealTime();
  return kSuccess;
}

FAKE_EXPORT Result cuptiGetContextId(Context /*context*/, std::uint32_t* id) {
  *id = 1;
  return kSuccess;
}

FAKE_EXPORT Result cuptiGetCallbackName(Domain domain, std::uint32_t id, const char** name) {
  static const std::map<std::pair<int, std::uint32_t>, const char*> kNames = {
      {{kRuntimeApi, kCudaGetDevice}, "cudaGetDevice_v3020"},
      {{kRuntimeApi, kCudaMemcpyAsync}, "cudaMemcpyAsync_v3020"},
      {{kRuntimeApi, kCudaMemsetAsync}, "cudaMemsetAsync_v3020"},
      {{kRuntimeApi, kCudaStreamSynchronize}, "cudaStreamSynchronize_v3020"},
      {{kRuntimeApi, kCudaLaunchKernel}, "cudaLaunchKernel_ptsz_v7000"},
      {{kRuntimeApi, kCudaGraphLaunch}, "cudaGraphLaunch_v10000"},
      {{kDriverApi, kCuLaunchKernel}, "cuLaunchKernel"}};
  Count("name_lookups");
  const auto found = kNames.find({domain, id});
  if (found == kNames.end()) return kUnknownError;
  *name = found->second;
  return kSuccess;
}

FAKE_EXPORT Result cuptiSubscribe(Subscriber* subscriber, Callback callback, void* user) {
  Count("subscriptions");
  const auto result = static_cast<Result>(Setting("SUBSCRIBE", kSuccess));
  if (result != kSuccess) return result;
  TheFake().callback = callback;
  TheFake().callback_user = user;
  *subscriber = &TheFake();
  return kSuccess;
}

FAKE_EXPORT Result cuptiUnsubscribe(Subscriber /*subscriber*/) {
  Count("unsubscriptions");
  TheFake().callbacks.clear();
  return kSuccess;
}

FAKE_EXPORT Result cuptiEnableCallback(std::uint32_t enable, Subscriber /*subscriber*/,
                                       Domain domain, std::uint32_t id) {
  if (enable != 0) TheFake().callbacks.emplace(domain, id);
  return kSuccess;
}

FAKE_EXPORT Result cuptiSetThreadIdType(std::int32_t type) {
  Count("thread_id_type", type);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivitySetAttribute(Attribute attribute, std::size_t* size, void* value) {
  long number = 0;
  std::memcpy(&number, value, std::min(*size, sizeof number));
  Count("attribute_" + std::to_string(attribute), number);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityRegisterCallbacks(BufferRequested requested,
                                                  BufferCompleted completed) {
  TheFake().requested = requested;
  TheFake().completed = completed;
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityEnable(ActivityKind kind) {
  const auto result = static_cast<Result>(Setting("ENABLE_" + std::to_string(kind), kSuccess));
  if (result != kSuccess) return result;
  Count("enable_" + std::to_string(kind));
  const std::lock_guard lock(TheFake().mutex);
  TheFake().kinds.insert(kind);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityDisable(ActivityKind kind) {
  Count("disable_" + std::to_string(kind));
  const std::lock_guard lock(TheFake().mutex);
  TheFake().kinds.erase(kind);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityFlushAll(std::uint32_t flag) {
  Count(flag == kFlushForced ? "forced_flushes" : "flushes");
  PutQueue();
  Complete(flag == kFlushForced ? Buffer::kAtForcedFlush : Buffer::kComplete);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                              Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + SizeOf(**record);
  if (next >= buffer + valid) return kMaxLimitReached;
  static long read = 0;
  if (++read == Setting("INVALID_RECORD", -1)) return kInvalidKind;
  *record = reinterpret_cast<Activity*>(next);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityGetNumDroppedRecords(Context /*context*/, std::uint32_t /*stream*/,
                                                     std::size_t* dropped) {
  const std::lock_guard lock(TheFake().mutex);
  *dropped = std::exchange(TheFake().lost, 0);
  return kSuccess;
}

#ifndef FAKE_CUPTI_OLD

FAKE_EXPORT Result cuptiActivityRegisterTimestampCallback(Timestamp timestamp) {
  const auto result = static_cast<Result>(Setting("TIMESTAMP", kSuccess));
  if (result != kSuccess) return result;
  Count("timestamp_callbacks");
  TheFake().timestamp = timestamp;
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityEnableRuntimeApi(std::uint32_t cbid, std::uint8_t enable) {
  const std::lock_guard lock(TheFake().mutex);
  if (enable == 0) TheFake().calls_off.emplace(kRuntime, cbid);
  return kSuccess;
}

FAKE_EXPORT Result cuptiActivityEnableDriverApi(std::uint32_t cbid, std::uint8_t enable) {
  const std::lock_guard lock(TheFake().mutex);
  if (enable == 0) TheFake().calls_off.emplace(kDriver, cbid);
  return kSuccess;
}

FAKE_EXPORT Result cuptiSubscribe_v2(Subscriber* subscriber, Callback callback, void* user,
                                     SubscriberParams* params) {
  const Result result = cuptiSubscribe(subscriber, callback, user);
  if (result == kMultipleSubscribers)
    std::snprintf(params->other_name, params->other_size, "CUPTI for Nsight Systems");
  return result;
}

FAKE_EXPORT int InitializeInjectionNvtx2(void* /*get_export_table*/) {
  Count("nvtx_injections");
  return 1;
}

#endif

// NOLINTEND(readability-identifier-naming)
