// Records this process's GPU work through CUPTI.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/activity_ring.h"
#include "capture/cupti/buffer_pool.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/library.h"
#include "capture/cupti/record_writer.h"

namespace headroom::cupti {

/// The recorder's settings, from the environment.
struct Settings {
  enum class Level { kNone, kGpu, kFull };
  Level level = Level::kGpu;
  bool windowed = false;  ///< Records only some steps.
  std::size_t memory_bytes = std::size_t{128} << 20;

  /// Reads these variables:
  /// - HEADROOM_LEVEL: `gpu` (the default) or `full`. Other levels record nothing.
  /// - HEADROOM_STEPS: if not empty, Control or the program's own cudaProfilerStart/Stop selects
  ///   the recorded time.
  /// - HEADROOM_MEMORY_MB: the ceiling of CUPTI's buffers.
  static Settings FromEnvironment();
};

/// One session per process, from the driver's start to the end of the process. CUPTI may call back
/// at any time, so the session is never destroyed.
///
/// Rules from the experience of other CUPTI users:
/// - Register the timestamp callback once per process. A second registration corrupts the next
///   kernels (pytorch issue 192021).
/// - Never refuse a buffer.
/// - Never call CUPTI under a lock that one of its callbacks takes.
/// - After any failure, the program continues and the recording states the reason.
class Session {
 public:
  /// Subscribes to CUPTI and begins to record if there is a recorder. Runs once per process; later
  /// calls do nothing.
  static void Start();
  /// Writes all records, as the exit handler does. Later calls do nothing.
  static void EndProcess();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  explicit Session(const Settings& settings);

  void Run();
  bool Subscribe();
  void Configure();
  bool EnableKinds();
  void DisableKinds();
  void Unavailable(const char* why, Result result);
  void StartWorker();

  /// Starts or stops the recording if the wanted state has changed. Thread-safe. A concurrent call
  /// returns immediately, and the worker applies the change in its next iteration.
  void ApplyCapture();
  void Flush(std::uint32_t flag);
  void Report();
  void Work();
  void Exit();

  // Callbacks for CUPTI, the loader and the kernel.
  static void OnBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
  static void OnBufferCompleted(Context context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t size, std::size_t valid);
  static void OnCallback(void* user, Domain domain, std::uint32_t id, const void* data);
  static std::uint64_t OnTimestamp();
  static void OnExit();
  static void OnForkInChild();
  static void* OnWorker(void* session);

  void TakeBuffer(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid);
  void CountDropped(Context context, std::uint32_t stream);

  Settings settings_;
  pid_t pid_;
  Library library_;
  activity::Ring ring_;
  BufferPool pool_;
  RecordWriter writer_;
  Subscriber subscriber_ = nullptr;

  /// True in a forked child, whose parent owns the session.
  std::atomic<bool> forked_ = false;
  std::atomic<bool> profiler_started_ = false;  ///< The program called cudaProfilerStart.
  std::atomic<bool> capturing_ = false;
  std::atomic<bool> refused_ = false;  ///< CUPTI refused to record kernels.
  std::atomic_flag applying_ = ATOMIC_FLAG_INIT;
  std::atomic<std::int64_t> handling_ns_ = 0;  ///< CPU time in callbacks, except on the worker.

  bool has_worker_ = false;
  pthread_t worker_ = {};
  pthread_mutex_t worker_mutex_ = PTHREAD_MUTEX_INITIALIZER;  ///< Guards the next two members.
  pthread_cond_t wake_worker_;
  bool stop_worker_ = false;
  std::int64_t worker_reported_ns_ = 0;  ///< Used by the worker, then by the exit.
  std::atomic<std::int64_t> worker_ns_ = 0;
};

}  // namespace headroom::cupti
