#include "fake_gpu.h"

#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): names of CUDA and HIP.

namespace {

constexpr int kNotReady = 600, kInvalidValue = 1, kInvalidHandle = 400;
// Streams from here on belong to the timer. Tests use small numbers.
constexpr std::uintptr_t kFirstOwnStream = 1000;

struct Event {
  std::int64_t at = -1;  ///< Host time; -1: never recorded.
  bool of_test = false;
  int context = 0;
};

struct Failure {
  int code, count, after;
};

struct State {
  std::mutex mutex;
  double drift = 0;
  bool hold = false, hold_own = false, context = true;
  int contexts = 0;  ///< Number of context changes.
  std::uintptr_t streams = kFirstOwnStream;
  std::map<void*, std::int64_t> busy_until;
  std::set<void*> capturing;
  std::map<std::string, Failure> failures;
  std::map<std::string, std::uint64_t> calls;
  std::vector<std::int64_t> passed;
  std::vector<Event*>
      made;  ///< Like a driver: a program must not free events of a destroyed context.
};

State& TheState() {
  static State* const state = new State();
  return *state;
}

std::int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Counts the call. Returns the error that the call must return, or 0. REQUIRES: the mutex is held.
int Called(const char* function) {
  State& state = TheState();
  ++state.calls[function];
  const auto failure = state.failures.find(function);
  if (failure == state.failures.end() || failure->second.count == 0) return 0;
  if (failure->second.after > 0) return --failure->second.after, 0;
  --failure->second.count;
  return failure->second.code;
}

int EventCreate(void** event) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  if (const int error = Called("EventCreate")) return error;
  auto* made = new Event();
  made->context = TheState().contexts;
  TheState().made.push_back(made);
  *event = made;
  return 0;
}

int EventDestroy(void* event) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const bool is_gone = static_cast<Event*>(event)->context != state.contexts;
  if (const int error = Called(is_gone ? "destroy what is gone" : "EventDestroy")) return error;
  return is_gone ? kInvalidHandle : 0;
}

int EventRecord(void* event, void* stream) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (const int error = Called("EventRecord")) return error;
  Event& recorded = *static_cast<Event*>(event);
  if (recorded.context != state.contexts) return kInvalidHandle;
  recorded.at = std::max(Now(), state.busy_until[stream]);
  recorded.of_test = reinterpret_cast<std::uintptr_t>(stream) < kFirstOwnStream;
  if (recorded.of_test) state.passed.push_back(recorded.at);
  return 0;
}

int EventQuery(void* event) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (const int error = Called("EventQuery")) return error;
  const Event& asked = *static_cast<Event*>(event);
  if (asked.context != state.contexts) return kInvalidHandle;
  if (asked.at < 0) return 0;
  return (asked.of_test ? state.hold : state.hold_own) || Now() < asked.at ? kNotReady : 0;
}

int EventElapsedTime(float* ms, void* start, void* end) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (const int error = Called("EventElapsedTime")) return error;
  for (void* event : {start, end}) {
    if (static_cast<Event*>(event)->context != state.contexts) return kInvalidHandle;
  }
  const auto ns =
      static_cast<double>(static_cast<Event*>(end)->at - static_cast<Event*>(start)->at);
  *ms = static_cast<float>(ns * (1 + state.drift * 1e-6) / 1e6);
  return 0;
}

int StreamIsCapturing(void* stream, int* status) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (const int error = Called("StreamIsCapturing")) return error;
  *status = state.capturing.count(stream) != 0 ? 1 : 0;
  return 0;
}

int StreamCreate(void** stream) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (const int error = Called("StreamCreate")) return error;
  *stream = reinterpret_cast<void*>(state.streams++);  // NOLINT(performance-no-int-to-ptr)
  return 0;
}

int Count(const char* function) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  return Called(function);
}

/// Mode of the calling thread: 0 global, the initial mode; 1 thread-local; 2 relaxed.
int ExchangeCaptureMode(int* mode) {
  thread_local int mode_now = 0;
  if (*mode < 0 || *mode > 2) return kInvalidValue;
  std::swap(mode_now, *mode);
  return mode_now == 2 ? Count("relaxed") : 0;
}

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT int cuEventCreate(void** event, unsigned) { return EventCreate(event); }
FAKE_EXPORT int cuEventDestroy_v2(void* event) { return EventDestroy(event); }
FAKE_EXPORT int cuEventRecord(void* event, void* stream) { return EventRecord(event, stream); }
FAKE_EXPORT int cuEventQuery(void* event) { return EventQuery(event); }
FAKE_EXPORT int cuEventElapsedTime(float* ms, void* start, void* end) {
  return EventElapsedTime(ms, start, end);
}
FAKE_EXPORT int cuStreamIsCapturing(void* stream, int* status) {
  return StreamIsCapturing(stream, status);
}
FAKE_EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) { return ExchangeCaptureMode(mode); }
FAKE_EXPORT int cuStreamCreate(void** stream, unsigned) { return StreamCreate(stream); }
FAKE_EXPORT int cuCtxGetCurrent(void** context) {
  *context = TheState().context ? &TheState() : nullptr;
  return 0;
}
FAKE_EXPORT int cuCtxSetCurrent(void* context) {
  return context == &TheState() ? Count("CtxSetCurrent") : kInvalidValue;
}
FAKE_EXPORT int cuCtxGetDevice(int* device) { return *device = 3, 0; }

FAKE_EXPORT int hipEventCreateWithFlags(void** event, unsigned) { return EventCreate(event); }
FAKE_EXPORT int hipEventDestroy(void* event) { return EventDestroy(event); }
FAKE_EXPORT int hipEventRecord(void* event, void* stream) { return EventRecord(event, stream); }
FAKE_EXPORT int hipEventQuery(void* event) { return EventQuery(event); }
FAKE_EXPORT int hipEventElapsedTime(float* ms, void* start, void* end) {
  return EventElapsedTime(ms, start, end);
}
FAKE_EXPORT int hipStreamIsCapturing(void* stream, int* status) {
  return StreamIsCapturing(stream, status);
}
FAKE_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) { return ExchangeCaptureMode(mode); }
FAKE_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) { return StreamCreate(stream); }
FAKE_EXPORT int hipGetDevice(int* device) { return *device = 5, 0; }
FAKE_EXPORT int hipSetDevice(int device) {
  return device == 5 ? Count("SetDevice") : kInvalidValue;
}

FAKE_EXPORT FakeGpu HeadroomFakeGpu() {
  FakeGpu out;
  out.work = [](void* stream, std::int64_t ns) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    std::int64_t& until = TheState().busy_until[stream];
    until = std::max(until, Now()) + ns;
  };
  out.set_drift = [](double ppm) { TheState().drift = ppm; };
  out.hold = [](bool on) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    TheState().hold = on;
  };
  out.hold_own = [](bool on) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    TheState().hold_own = on;
  };
  out.fail = [](const char* function, int code, int count, int after) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    TheState().failures[function] = {code, count, after};
  };
  out.reset = [] {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    ++TheState().contexts;
  };
  out.capture = [](void* stream, bool on) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    if (on) {
      TheState().capturing.insert(stream);
    } else {
      TheState().capturing.erase(stream);
    }
  };
  out.set_context = [](bool present) { TheState().context = present; };
  out.passed = [](std::uint64_t n) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    return TheState().passed.at(n);
  };
  out.events = [] {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    return static_cast<std::uint64_t>(TheState().passed.size());
  };
  out.calls = [](const char* function) {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    return TheState().calls[function];
  };
  return out;
}

// NOLINTEND(readability-identifier-naming)
