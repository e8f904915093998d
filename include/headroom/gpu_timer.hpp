// Regions on the clock of a GPU, by events of CUDA or HIP: headers only, C++17, nothing to link
// with but what headroom/timer.hpp needs, and libdl where glibc is older than 2.34.
//
//   #include <headroom/gpu_timer.hpp>
//
//   {
//     headroom::GpuScope forward("FORWARD", stream);  // A CUstream, cudaStream_t or hipStream_t.
//     launch_kernels(stream);
//   }
//   double seconds = headroom::gpu_stats("FORWARD").mean_s;  // Of those that the GPU has finished.
//
// A region is an event before and an event after what the stream was given in between. Nothing
// waits: a thread asks for their times later. When the GPU is further behind than kRegions regions
// of a stream, regions are dropped and counted. Nothing here throws, and no error of the GPU's
// library reaches the program: it costs the region. Where there is no GPU, or the calling thread
// has none in use, regions are timed on the host, which is said once on stderr.
//
// The library is opened when the first region begins: libcuda.so.1, else the libamdhip64.so that
// the program has loaded, or what HEADROOM_CUDA_LIBRARY and HEADROOM_HIP_LIBRARY name. How exact
// regions are: docs/timers.md.
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

/// The GPU's time between where a stream is now and where it is when the scope ends. The stream:
/// that of CUDA or HIP; null: the default stream. By one thread at a time.
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

/// Statistics of the GPU regions of a key that are resolved; total_s is the sum of their lengths.
inline Stats gpu_stats(const char* key) { return detail::GpuRegions::instance().stats(key); }
inline Stats gpu_stats(const std::string& key) { return gpu_stats(key.c_str()); }
inline GpuCounts gpu_counts() { return detail::GpuRegions::instance().counts(); }

/// Waits until the GPU regions that have begun are resolved; whether they are, within `patience`.
/// For the end of an epoch or of the program: it waits for the GPU.
inline bool gpu_wait(std::chrono::nanoseconds patience = std::chrono::seconds(10)) {
  return detail::GpuRegions::instance().wait(patience);
}

/// The wait for the next batch, on both clocks: a scope around the host's next().
///
///     for (;;) {
///       auto batch = [&] { headroom::InputWait wait(stream); return loader.next(); }();
///
/// The host's wait is stats(key); the part that the GPU felt, because it ran out of work meanwhile,
/// is gpu_stats(key): the distance of an event before from one after, which the GPU passes at
/// max(0, end - max(start, when it ran dry)). The rest was hidden behind its work.
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

/// The MAELSTROM timer of a GPU: the methods of BasicTimer. A region is one of the current stream,
/// which the caller says; queries wait for the GPU.
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

  /// A region that is not timed keeps the place of one, so that the next end finds its own start.
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

  /// As BasicTimer's: closes what this thread has open of a key, if that is so much that it was
  /// left.
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
  ~GpuScope() {}  // NOLINT(modernize-use-equals-default): a variable of it counts as used.
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

/// The MAELSTROM twin: host time always, GPU time where `gpu` is set. The flag of the start counts;
/// an end with the other one is counted in ignored(), no more.
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
  /// As BasicTimer's, below "CPU", then below "GPU".
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
  /// Of both halves: what the host's ignored, the GPU's did, too.
  std::uint64_t ignored() { return std::max(cpu_.ignored(), gpu_.ignored()); }

 private:
  BasicTimer<Clock> cpu_;
  GpuTimer gpu_;
};

using CpuGpuTimer = BasicCpuGpuTimer<HostClock>;

}  // namespace timer_v1
}  // namespace headroom

// NOLINTEND(readability-identifier-naming)
