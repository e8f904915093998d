#include "capture/cupti/session.h"

#include <unistd.h>
#include <csignal>
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "capture/cupti/noisy_calls.h"

namespace headroom::cupti {
namespace {

namespace message = activity::message;
using activity::Severity;

/// Period of requests for complete records: CUPTI's own periodic flush delivers full buffers only.
constexpr std::int64_t kFlushNs = 200'000'000;
constexpr std::int64_t kReportNs = 1'000'000'000;
/// Interval at which the worker checks whether the recorder wants events, if a step window is set.
constexpr std::int64_t kControlNs = 10'000'000;
/// Longest wait for the worker when the process exits.
constexpr int kExitPatienceSeconds = 2;
/// Number of buffers kept ready before CUPTI asks.
constexpr std::size_t kSpareBuffers = 4;
/// Maximum number of CUPTI's buffers on the GPU, 3.2 MB each. CUPTI's default is 250.
constexpr std::size_t kDeviceBuffers = 20;

constexpr ActivityKind kGpuKinds[] = {kConcurrentKernel, kMemcpy,          kPeerCopy,
                                      kMemset,           kRuntime,         kDriver,
                                      kOverhead,         kSynchronization, kExternalCorrelation};
constexpr ActivityKind kFullKinds[] = {kMarker, kName};

const char* KindText(ActivityKind kind) {
  switch (kind) {
    case kConcurrentKernel:
      return "kernels";
    case kMemcpy:
      return "copies";
    case kPeerCopy:
      return "copies between GPUs";
    case kMemset:
      return "memory sets";
    case kRuntime:
      return "runtime calls";
    case kDriver:
      return "driver calls";
    case kOverhead:
      return "overhead";
    case kSynchronization:
      return "synchronization";
    case kExternalCorrelation:
      return "external ids";
    case kMarker:
      return "NVTX ranges";
    case kName:
      return "NVTX names";
  }
  return "";
}

std::int64_t Nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Set once, before any callback is registered with CUPTI.
Session* the_session = nullptr;

thread_local bool on_worker = false;

}  // namespace

Settings Settings::FromEnvironment() {
  Settings settings;
  const char* level = std::getenv("HEADROOM_LEVEL");
  if (level != nullptr && level[0] != 0) {
    settings.level = std::strcmp(level, "gpu") == 0    ? Level::kGpu
                     : std::strcmp(level, "full") == 0 ? Level::kFull
                                                       : Level::kNone;
  }
  const char* steps = std::getenv("HEADROOM_STEPS");
  settings.windowed = steps != nullptr && steps[0] != 0;
  const char* memory = std::getenv("HEADROOM_MEMORY_MB");
  if (memory != nullptr && memory[0] != 0) {
    const unsigned long megabytes = std::strtoul(memory, nullptr, 10);
    settings.memory_bytes = std::clamp<std::size_t>(megabytes, 1, 4096) << 20;
  }
  return settings;
}

Session::Session(const Settings& settings)
    : settings_(settings),
      pid_(getpid()),
      pool_(settings.memory_bytes),
      writer_(&library_, &ring_) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&wake_worker_, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

void Session::Start() {
  static std::atomic_flag started = ATOMIC_FLAG_INIT;
  if (started.test_and_set()) return;
  const Settings settings = Settings::FromEnvironment();
  if (settings.level == Settings::Level::kNone || !headroom_recorded()) return;
  the_session = new (std::nothrow) Session(settings);
  if (the_session != nullptr) the_session->Run();
}

void Session::Run() {
  if (!ring_.Open("CUPTI")) return;
  std::string why;
  if (!OpenLibrary(&library_, &why)) return Unavailable(why.c_str(), kSuccess);
  if (!Subscribe()) return;
  Configure();
  if (!settings_.windowed) {
    capturing_ = EnableKinds();
    if (!capturing_) {
      library_.unsubscribe(subscriber_);
      return;
    }
  }
  char text[512];
  std::snprintf(text, sizeof text, "%s, level %s%s", library_.path.c_str(),
                settings_.level == Settings::Level::kFull ? "full" : "gpu",
                settings_.windowed ? ", steps in a window" : "");
  writer_.Say(message::kStarted, library_.version, text);
  pthread_atfork(nullptr, nullptr, &OnForkInChild);
  StartWorker();
  std::atexit(&OnExit);
}

void Session::Unavailable(const char* why, Result result) {
  writer_.Say(message::kUnavailable, result, why, Severity::kWarning);
}

bool Session::Subscribe() {
  std::string why;
  const Result result = cupti::Subscribe(library_, &OnCallback, this, &subscriber_, &why);
  if (result == kSuccess) return true;
  Unavailable(why.c_str(), result);
  return false;
}

void Session::Configure() {
  // Uses kernel thread ids, like Headroom's collector.
  library_.set_thread_id_type(kThreadIdTypeSystem);
  std::size_t size = sizeof(std::size_t);
  std::size_t limit = kDeviceBuffers;
  library_.set_attribute(kDeviceBufferPoolLimit, &size, &limit);
  // The pool's buffers are zero. Otherwise CUPTI would zero them during the program's launches.
  std::uint8_t zeroed = 1;
  size = sizeof zeroed;
  library_.set_attribute(kZeroedOutActivityBuffer, &size, &zeroed);
  pool_.Prepare(kSpareBuffers);

  const bool asks_us = library_.register_timestamp_callback != nullptr &&
                       library_.register_timestamp_callback(&OnTimestamp) == kSuccess;
  if (!asks_us) writer_.UseCuptiTime();
  library_.register_callbacks(&OnBufferRequested, &OnBufferCompleted);

  const auto call_us = [&](Domain domain, std::uint32_t id) {
    library_.enable_callback(1, subscriber_, domain, id);
  };
  call_us(kRuntimeApi, kCudaDeviceReset);
  call_us(kResource, kContextDestroyStarting);
  call_us(kState, kStateFatalError);  // CUPTI before CUDA 12.2 lacks this state and refuses.
  if (settings_.windowed) {
    call_us(kDriverApi, kCuProfilerStart);
    call_us(kDriverApi, kCuProfilerStop);
  }
}

bool Session::EnableKinds() {
  const auto enable = [&](ActivityKind kind) {
    const Result result = library_.enable(kind);
    if (result == kSuccess) return true;
    if (kind == kConcurrentKernel) {
      const std::string why = "CUPTI refuses to record kernels: " + library_.Explain(result);
      Unavailable(why.c_str(), result);
    } else {
      writer_.Say(message::kKindRefused, result, KindText(kind));
    }
    return false;
  };
  for (const ActivityKind kind : kGpuKinds) {
    if (!enable(kind) && kind == kConcurrentKernel) return false;
  }
  if (settings_.level == Settings::Level::kFull) {
    for (const ActivityKind kind : kFullKinds) enable(kind);
  }
  // Disables noisy calls last, because enabling a kind enables all its calls. If CUPTI cannot
  // disable single calls, the writer skips them.
  if (library_.enable_runtime_api != nullptr) {
    for (const std::uint32_t id : kNoisyRuntimeCalls) library_.enable_runtime_api(id, 0);
  }
  if (library_.enable_driver_api != nullptr) {
    for (const std::uint32_t id : kNoisyDriverCalls) library_.enable_driver_api(id, 0);
  }
  return true;
}

void Session::DisableKinds() {
  for (const ActivityKind kind : kGpuKinds) library_.disable(kind);
  if (settings_.level == Settings::Level::kFull) {
    for (const ActivityKind kind : kFullKinds) library_.disable(kind);
  }
}

void Session::ApplyCapture() {
  if (!settings_.windowed || refused_ || applying_.test_and_set()) return;
  const bool wanted = profiler_started_ || ring_.capture_wanted();
  if (wanted != capturing_) {
    if (!wanted) {
      DisableKinds();
      capturing_ = false;
    } else if (EnableKinds()) {
      capturing_ = true;
    } else {
      refused_ = true;  // The reason is recorded, and a retry would fail again.
    }
    writer_.Say(message::kCapture, capturing_, nullptr);
  }
  applying_.clear();
}

void Session::Flush(std::uint32_t flag) {
  writer_.Anchor();
  library_.flush_all(flag);
  writer_.WriteHeld(flag == kFlushForced);
}

void Session::Report() {
  const auto say = [&](const char* what, std::int64_t value, Severity severity) {
    return value == 0 || writer_.Say(what, value, nullptr, severity);
  };
  const std::int64_t untimed = writer_.TakeUntimed();
  if (!say(message::kUntimed, untimed, Severity::kWarning)) writer_.AddUntimed(untimed);
  const std::int64_t discarded = pool_.TakeDiscarded();
  if (!say(message::kDiscarded, discarded, Severity::kWarning)) pool_.AddDiscarded(discarded);
  const std::int64_t handling = handling_ns_.exchange(0);
  if (!say(message::kHandlingTime, handling, Severity::kInfo)) handling_ns_ += handling;
  const std::int64_t worker = worker_ns_;
  if (say(message::kWorkerTime, worker - worker_reported_ns_, Severity::kInfo))
    worker_reported_ns_ = worker;
}

// --- worker thread -------------------------------------------------------------------------------

void Session::StartWorker() {
  sigset_t all, before;
  sigfillset(&all);
  // The program's signal handlers must not run on the worker.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_worker_ = pthread_create(&worker_, nullptr, &OnWorker, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Session::OnWorker(void* session) {
  pthread_setname_np(pthread_self(), "headroom-cupti");
  on_worker = true;
  try {
    static_cast<Session*>(session)->Work();
  } catch (...) {
    // Out of memory: without the worker, records come only when buffers are full, and at the exit.
  }
  return nullptr;
}

void Session::Work() {
  std::int64_t flushed = Nanoseconds(CLOCK_MONOTONIC), reported = flushed;
  const std::int64_t pause = settings_.windowed ? kControlNs : kFlushNs;
  for (;;) {
    const std::int64_t until = Nanoseconds(CLOCK_MONOTONIC) + pause;
    const timespec deadline{.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
    pthread_mutex_lock(&worker_mutex_);
    while (!stop_worker_ && pthread_cond_timedwait(&wake_worker_, &worker_mutex_, &deadline) == 0) {
    }
    const bool stop = stop_worker_;
    pthread_mutex_unlock(&worker_mutex_);
    if (stop) break;

    ApplyCapture();
    const std::int64_t now = Nanoseconds(CLOCK_MONOTONIC);
    if (now - flushed >= kFlushNs) {
      Flush(0);
      writer_.ForgetThreads();
      pool_.Prepare(kSpareBuffers);
      flushed = now;
    }
    worker_ns_ = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (now - reported >= kReportNs) {
      Report();
      reported = now;
    }
  }
  worker_ns_ = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

void Session::Exit() {
  if (has_worker_) {
    pthread_mutex_lock(&worker_mutex_);
    stop_worker_ = true;
    pthread_cond_signal(&wake_worker_);
    pthread_mutex_unlock(&worker_mutex_);
    timespec deadline{};
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += kExitPatienceSeconds;
    if (pthread_timedjoin_np(worker_, nullptr, &deadline) != 0) {
      // CUPTI does not return, and another call would not either.
      writer_.Say(message::kFailed, 0, "CUPTI hangs at exit: the last records are missing",
                  Severity::kWarning);
      return;
    }
    has_worker_ = false;
  }
  Flush(kFlushForced);
  Report();
}

void Session::EndProcess() {
  if (the_session != nullptr) OnExit();
}

void Session::OnExit() {
  // A forked child has no worker and must not call CUPTI.
  if (the_session->forked_ || getpid() != the_session->pid_) return;
  static std::atomic_flag ended = ATOMIC_FLAG_INIT;
  if (ended.test_and_set()) return;
  try {
    the_session->Exit();
  } catch (...) {
    // Out of memory at the exit: earlier records are already written.
  }
}

void Session::OnForkInChild() { the_session->forked_ = true; }

// --- called by CUPTI -----------------------------------------------------------------------------

// The driver and CUPTI are built without exceptions, so no exception may leave these functions.

std::uint64_t Session::OnTimestamp() { return headroom_impl_ticks(headroom_impl_state_v1.clock); }

void Session::OnBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *records = 0;  // No limit: as many as fit.
  *buffer = the_session->pool_.Request(size);
}

void Session::OnBufferCompleted(Context context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t /*size*/, std::size_t valid) {
  Session& session = *the_session;
  if (session.forked_ || buffer == nullptr) return;
  const std::int64_t before = on_worker ? 0 : Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  try {
    session.TakeBuffer(context, stream, buffer, valid);
  } catch (...) {
    session.pool_.AddDiscarded(static_cast<std::int64_t>(valid));
  }
  if (!on_worker) session.handling_ns_ += Nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before;
}

void Session::TakeBuffer(Context context, std::uint32_t stream, std::uint8_t* buffer,
                         std::size_t valid) {
  if (pool_.Readable(buffer, valid)) {
    const std::size_t unread = writer_.WriteBuffer(buffer, valid);
    pool_.AddDiscarded(static_cast<std::int64_t>(unread));
  }
  pool_.Return(buffer);
  CountDropped(context, stream);
}

void Session::CountDropped(Context context, std::uint32_t stream) {
  std::size_t dropped = 0;
  if (library_.get_dropped_records(context, stream, &dropped) != kSuccess || dropped == 0) return;
  char text[64] = "CUPTI dropped records of the process";
  std::uint32_t id = 0;
  if (context != nullptr && library_.get_context_id(context, &id) == kSuccess)
    std::snprintf(text, sizeof text, "CUPTI dropped records of context %u, stream %u", id, stream);
  writer_.Say(message::kDropped, static_cast<std::int64_t>(dropped), text, Severity::kWarning);
}

void Session::OnCallback(void* user, Domain domain, std::uint32_t id, const void* data) {
  Session& session = *static_cast<Session*>(user);
  if (session.forked_) return;
  try {
    switch (domain) {
      case kRuntimeApi:  // cudaDeviceReset
        if (static_cast<const CallbackData*>(data)->site == kApiEnter) session.Flush(kFlushForced);
        return;
      case kResource:  // A context is about to be destroyed.
        session.Flush(kFlushForced);
        return;
      case kDriverApi:  // cuProfilerStart, cuProfilerStop
        if (static_cast<const CallbackData*>(data)->site != kApiExit) return;
        session.profiler_started_ = id == kCuProfilerStart;
        session.ApplyCapture();
        return;
      case kState: {
        const auto& state = *static_cast<const StateData*>(data);
        session.writer_.Say(message::kFailed, state.result,
                            state.message != nullptr ? state.message : "CUPTI failed",
                            Severity::kWarning);
        return;
      }
    }
  } catch (...) {
    // Out of memory: the program must not see it.
  }
}

}  // namespace headroom::cupti
