// The recording of this process's GPU work through CUPTI.
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

/// What the recorder wants, by environment.
struct Settings {
  enum class Level { kNone, kGpu, kFull };
  Level level = Level::kGpu;
  bool windowed = false;  ///< Only some steps.
  std::size_t memory_bytes = std::size_t{128} << 20;

  /// HEADROOM_LEVEL: `gpu` (also where it is not set) or `full`; at others, nothing is recorded.
  /// HEADROOM_STEPS: anything but empty: only what Control or the program's own
  /// cudaProfilerStart/Stop lets through. HEADROOM_MEMORY_MB: the ceiling of CUPTI's buffers.
  static Settings FromEnvironment();
};

/// One a process, from the driver's start to the death of the process: CUPTI may call at any time
/// in between, so it is never destroyed.
///
/// Rules that CUPTI's other users paid for: the timestamp callback is registered once a process
/// (registering it again corrupts the first kernels after: pytorch issue 192021); no buffer is ever
/// refused; CUPTI is not called under a lock that one of its callbacks takes; whatever fails, the
/// program runs on and the recording says why.
class Session {
 public:
  /// Where there is a recorder: subscribes to CUPTI and begins. Once a process; a second call does
  /// nothing.
  static void Start();

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

  /// Brings what is recorded in line with what is wanted. Any thread; whoever comes while another
  /// is at it leaves it to the worker's next round.
  void ApplyCapture();
  void Flush(std::uint32_t flag);
  void Report();
  void Work();
  void Exit();

  // What CUPTI, the loader and the kernel call.
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

  std::atomic<bool> forked_ = false;            ///< This is a child: all of it is the parent's.
  std::atomic<bool> profiler_started_ = false;  ///< By the program itself.
  std::atomic<bool> capturing_ = false;
  std::atomic<bool> refused_ = false;  ///< CUPTI gives no kernels.
  std::atomic_flag applying_ = ATOMIC_FLAG_INIT;
  std::atomic<std::int64_t> handling_ns_ = 0;  ///< Thread time in callbacks, but the worker's.

  bool has_worker_ = false;
  pthread_t worker_ = {};
  pthread_mutex_t worker_mutex_ = PTHREAD_MUTEX_INITIALIZER;  ///< Of the next two.
  pthread_cond_t wake_worker_;
  bool stop_worker_ = false;
  std::int64_t worker_reported_ns_ = 0;  ///< The worker's, then the exit's.
  std::atomic<std::int64_t> worker_ns_ = 0;
};

}  // namespace headroom::cupti
