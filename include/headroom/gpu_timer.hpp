// Regions on a GPU's clock, timed by CUDA or HIP events. Header-only, C++17. Link what
// headroom/timer.hpp needs, and libdl if glibc is older than 2.34.
//
//   #include <headroom/gpu_timer.hpp>
//
//   {
//     headroom::GpuScope forward("FORWARD", stream);  // A CUstream, cudaStream_t or hipStream_t.
//     launch_kernels(stream);
//   }
//   double seconds = headroom::gpu_stats("FORWARD").mean_s;  // Regions that the GPU has finished.
//
// A region is a pair of events around the work that the stream receives in between. Nothing waits:
// a thread reads the times later. If the GPU is more than kRegions regions of a stream behind,
// further regions are dropped and counted. Nothing here throws. An error of the GPU's library never
// reaches the program; it only loses the region. Without a GPU, or if the calling thread uses none,
// regions are timed on the host. A message on stderr says so once.
//
// The first region opens the library: libcuda.so.1, else the libamdhip64.so that the program has
// loaded. HEADROOM_CUDA_LIBRARY and HEADROOM_HIP_LIBRARY override these names. docs/timers.md
// states the accuracy of regions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "headroom/detail/gpu_regions.h"
#include "headroom/timer.hpp"

// NOLINTBEGIN(readability-identifier-naming): names that users of other timers know.

namespace headroom {
inline namespace timer_v1 {

#if !defined(HEADROOM_DISABLE)

/// Times the GPU work that a stream receives within the scope. `stream` is a CUDA or HIP stream;
/// null: the default stream. Only one thread at a time may use it.
class [[nodiscard]] GpuScope {
 public:
  explicit GpuScope(const char* key, void* stream = nullptr)
      : region_(detail::GpuRegions::instance().begin(key, stream, nullptr, true)) {}
  explicit GpuScope(const std::string& key, void* stream = nullptr)
      : GpuScope(key.c_str(), stream) {}
  ~GpuScope() { detail::GpuRegions::instance().end(region_); }
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  detail::GpuRegions::Region* region_;
};

/// Returns statistics of a key's resolved GPU regions. total_s is the sum of their lengths.
inline Stats gpu_stats(const char* key) { return detail::GpuRegions::instance().stats(key); }
inline Stats gpu_stats(const std::string& key) { return gpu_stats(key.c_str()); }
inline GpuCounts gpu_counts() { return detail::GpuRegions::instance().counts(); }

/// Waits for the GPU at most `patience`. Returns true if all GPU regions that have begun were
/// resolved. Call it at the end of an epoch or of the program.
inline bool gpu_wait(std::chrono::nanoseconds patience = std::chrono::seconds(10)) {
  return detail::GpuRegions::instance().wait(patience);
}

/// The wait for the next batch, on both clocks: a scope around the host's next().
///
///     for (;;) {
///       auto batch = [&] { headroom::InputWait wait(stream); return loader.next(); }();
///
/// stats(key) is the host's wait. gpu_stats(key) is the part in which the GPU had no work: the time
/// between an event before the wait and an event after it. The GPU reaches the first event when its
/// earlier work ends, so that work hides the rest of the wait.
class [[nodiscard]] InputWait {
 public:
  explicit InputWait(void* stream = nullptr, const char* key = keys::kIo)
      : gpu_(detail::GpuRegions::instance().begin(key, stream, nullptr, false)), host_(key) {}
  ~InputWait() { detail::GpuRegions::instance().end(gpu_); }
  InputWait(const InputWait&) = delete;
  InputWait& operator=(const InputWait&) = delete;

 private:
  detail::GpuRegions::Region* gpu_;
  Scope host_;
};

/// The MAELSTROM timer for a GPU, with the methods of BasicTimer. The caller passes the current
/// stream of each region. Queries wait for the GPU.
class GpuTimer {
 public:
  static constexpr std::size_t kOpen = 1024;

  GpuTimer() = default;
  ~GpuTimer() {
    for (const Open& open : open_) detail::GpuRegions::instance().end(open.region);
  }
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  void start(const std::string& key, void* stream = nullptr) { start(key, stream, true); }
  void end(const std::string& key) { end(key, true); }

  void complete_all() { gpu_wait(); }

  std::vector<double> get_time(const std::string& key) {
    complete_all();
    const std::lock_guard<std::mutex> lock(results_->mutex);
    return results_->times.latest(key);
  }
  TimeStats get_time_stats(const std::string& key) {
    complete_all();
    const std::lock_guard<std::mutex> lock(results_->mutex);
    return results_->times.stats(key);
  }
  void print_all_time_stats(std::ostream& out = std::cout) {
    complete_all();
    const std::lock_guard<std::mutex> lock(results_->mutex);
    results_->times.print(out);
  }
  std::error_code save_all_time_stats(const std::string& path) {
    std::ostringstream text;
    print_all_time_stats(text);
    return detail::write_new_file(path, text.str());
  }
  std::uint64_t ignored() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ignored_;
  }

 private:
  template <class Clock>
  friend class BasicCpuGpuTimer;

  struct Open {
    std::thread::id thread;
    std::string key;
    bool timed;
    detail::GpuRegions::Region* region;
  };

  /// An untimed region still takes a place in open_, so that the next end finds its own start.
  void start(const std::string& key, void* stream, bool timed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    abandon(key);
    if (key == keys::kAll || open_.size() == kOpen) {
      ++ignored_;
      return;
    }
    detail::GpuRegions::Region* region = nullptr;
    if (timed) {
      region = detail::GpuRegions::instance().begin(key.c_str(), stream, results_, false);
    }
    open_.push_back({std::this_thread::get_id(), key, timed, region});
    if (!timed) return;
    const std::lock_guard<std::mutex> results(results_->mutex);
    results_->times.expect(key);
  }

  /// Like BasicTimer's: closes this thread's open regions of a key if they are kNested or more.
  void abandon(const std::string& key) {
    constexpr std::size_t kNested = BasicTimer<HostClock>::kNested;
    const auto is_left = [&](const Open& open) {
      return open.thread == std::this_thread::get_id() && open.key == key;
    };
    if (open_.size() < kNested) return;
    const auto left = static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), is_left));
    if (left < kNested) return;
    for (const Open& open : open_) {
      if (is_left(open)) detail::GpuRegions::instance().abandon(open.region);
    }
    open_.erase(std::remove_if(open_.begin(), open_.end(), is_left), open_.end());
    ignored_ += left;
  }

  void end(const std::string& key, bool timed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].thread != std::this_thread::get_id() || open_[i].key != key) continue;
      if (open_[i].timed != timed) ++ignored_;
      detail::GpuRegions::instance().end(open_[i].region);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    ++ignored_;
  }

  std::mutex mutex_;
  std::vector<Open> open_;
  std::uint64_t ignored_ = 0;
  std::shared_ptr<detail::GpuResults> results_ = std::make_shared<detail::GpuResults>();
};

#else  // HEADROOM_DISABLE

class [[nodiscard]] GpuScope {
 public:
  explicit GpuScope(const char*, void* = nullptr) {}
  explicit GpuScope(const std::string&, void* = nullptr) {}
  ~GpuScope() {}  // NOLINT(modernize-use-equals-default): avoids unused-variable warnings.
};
class [[nodiscard]] InputWait {
 public:
  explicit InputWait(void* = nullptr, const char* = nullptr) {}
  ~InputWait() {}  // NOLINT(modernize-use-equals-default)
};
inline Stats gpu_stats(const char*) { return {}; }
inline Stats gpu_stats(const std::string&) { return {}; }
inline GpuCounts gpu_counts() { return {}; }
inline bool gpu_wait(std::chrono::nanoseconds = std::chrono::nanoseconds(0)) { return true; }

class GpuTimer {
 public:
  void start(const std::string&, void* = nullptr) {}
  void end(const std::string&) {}
  void complete_all() {}
  std::vector<double> get_time(const std::string&) { return {}; }
  TimeStats get_time_stats(const std::string&) { return {}; }
  void print_all_time_stats(std::ostream& out = std::cout) { out << "---\n"; }
  std::error_code save_all_time_stats(const std::string& path) {
    return detail::write_new_file(path, "---\n");
  }
  std::uint64_t ignored() { return 0; }

 private:
  template <class Clock>
  friend class BasicCpuGpuTimer;
  void start(const std::string&, void*, bool) {}
  void end(const std::string&, bool) {}
};

#endif

/// The MAELSTROM twin: always times the host, and the GPU if `gpu` is true. The flag at the start
/// decides. An end with the other flag only increases ignored().
template <class Clock>
class BasicCpuGpuTimer {
 public:
  explicit BasicCpuGpuTimer(Clock clock = Clock()) : cpu_(std::move(clock)) {}

  void start(const std::string& key, bool gpu = false, void* stream = nullptr) {
    cpu_.start(key);
    gpu_.start(key, stream, gpu);
  }
  void end(const std::string& key, bool gpu = false) {
    gpu_.end(key, gpu);
    cpu_.end(key);
  }
  std::vector<double> get_time(const std::string& key, bool gpu = false) {
    return gpu ? gpu_.get_time(key) : cpu_.get_time(key);
  }
  TimeStats get_time_stats(const std::string& key, bool gpu = false) {
    return gpu ? gpu_.get_time_stats(key) : cpu_.get_time_stats(key);
  }
  void complete_all() {
    cpu_.complete_all();
    gpu_.complete_all();
  }
  /// Prints "CPU" and the host's statistics, then "GPU" and the GPU's, as BasicTimer does.
  void print_all_time_stats(std::ostream& out = std::cout) {
    out << "CPU\n";
    cpu_.print_all_time_stats(out);
    out << "GPU\n";
    gpu_.print_all_time_stats(out);
  }
  std::error_code save_all_time_stats(const std::string& path) {
    std::ostringstream text;
    print_all_time_stats(text);
    return detail::write_new_file(path, text.str());
  }
  /// Returns the larger count of the two timers, so that a call that both ignore counts once.
  std::uint64_t ignored() { return std::max(cpu_.ignored(), gpu_.ignored()); }

 private:
  BasicTimer<Clock> cpu_;
  GpuTimer gpu_;
};

using CpuGpuTimer = BasicCpuGpuTimer<HostClock>;

}  // namespace timer_v1
}  // namespace headroom

// NOLINTEND(readability-identifier-naming)
