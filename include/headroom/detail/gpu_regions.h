// GPU regions, timed by events. Implements the contracts of headroom/gpu_timer.hpp.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/detail/gpu_library.h"
#include "headroom/timer.hpp"

// NOLINTBEGIN(readability-identifier-naming): as in headroom/gpu_timer.hpp.

namespace headroom {
inline namespace timer_v1 {

/// Outcomes of this image's GPU regions since the program began.
struct GpuCounts {
  std::uint64_t resolved;   ///< Timed by the GPU.
  std::uint64_t host;       ///< Timed on the host, because no GPU was in use.
  std::uint64_t full;       ///< Dropped: too many open regions on a stream, or too many streams.
  std::uint64_t capturing;  ///< Left out: the stream was being captured into a graph.
  std::uint64_t failed;     ///< Lost to an error of the GPU's library.
  std::uint64_t anchors;    ///< Number of clock comparisons.
};

#if !defined(HEADROOM_DISABLE)

namespace detail {

/// Receives the lengths of a GpuTimer's regions.
struct GpuResults {
  std::mutex mutex;
  TimeTable times;
};

/// All GPU regions of an image. One object, which is never destroyed.
class GpuRegions {
 public:
  /// Maximum number of unresolved regions per stream.
  static constexpr std::size_t kRegions = 1024;
  static constexpr std::size_t kStreams = 64;
  static constexpr std::uint64_t kAnchorEveryNs = 1'000'000'000;
  /// The host polls an event for at most this time. An idle GPU reaches it within about 10 us.
  static constexpr std::uint64_t kAnchorPatienceNs = 200'000;
  /// Pause after a failed attempt. It doubles with each further failure.
  static constexpr std::uint64_t kAnchorFirstPauseNs = 5'000'000;
  static constexpr std::uint64_t kLookForHipEveryNs = 100'000'000;

  /// An open region; null: no region.
  struct Region;

  static GpuRegions& instance() {
    static GpuRegions* const regions = new GpuRegions();
    return *regions;
  }

  /// @param results  also receives the length, in addition to the statistics; may be null
  /// @param as_host  without a GPU, makes it a region of the calling thread
  Region* begin(const char* key, void* stream, std::shared_ptr<GpuResults> results, bool as_host) {
    if (!headroom_impl_on()) return nullptr;
    GpuLibrary::Handle context = nullptr;
    int device = 0;
    if (forked_ || !has_library() || !library_.current(&context, &device)) {
      return begin_on_host(key, std::move(results), as_host);
    }
    const std::uint32_t name = headroom_impl_key(key);
    if (name == 0) return nullptr;
    int capturing = 0;
    // An error means that a capture on another stream waits for this one.
    if (library_.is_capturing(stream, &capturing) != 0 || capturing != 0) {
      ++capturing_;
      return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    Device* gpu = device_of(context, device);
    if (gpu == nullptr) {
      ++failed_;
      return nullptr;
    }
    Lane* lane = lane_of(gpu, stream);
    if (lane == nullptr || lane->free.empty()) {
      ++full_;
      return nullptr;
    }
    Region* region = lane->free.back();
    if (!create_events(region)) {
      ++failed_;
      return nullptr;
    }
    if (library_.event_record(region->events[0], stream) != 0) {
      ++failed_;
      // The stream or its context may be destroyed. Our own event shows which.
      gpu->gone = GpuLibrary::context_is_gone(library_.event_query(region->events[0]));
      return nullptr;
    }
    lane->free.pop_back();
    ++lane->held;
    region->name = name;
    region->results = std::move(results);
    region->failed = false;
    lane->marks.push_back({region, 0});
    wake();
    return region;
  }

  void end(Region* region) {
    if (region == nullptr) return;
    if (region->lane == nullptr) return end_on_host(region);
    if (forked_) return;  // The events belong to the parent, which still has the region.
    const std::lock_guard<std::mutex> lock(mutex_);
    Lane* lane = region->lane;
    --lane->held;
    if (lane->device == nullptr) {  // The context was destroyed, and the region is counted as
                                    // failed.
      if (lane->held == 0) {
        lost_.erase(std::find_if(lost_.begin(), lost_.end(),
                                 [lane](const auto& lost) { return lost.get() == lane; }));
      }
      return;
    }
    int capturing = 0;
    if (region->failed || library_.is_capturing(lane->stream, &capturing) != 0 || capturing != 0 ||
        library_.event_record(region->events[1], lane->stream) != 0) {
      region->failed = true;  // resolve() closes the region at its place in the stream's order.
    }
    lane->marks.push_back({region, 1});
    wake();
  }

  /// Ends a region that was left open. It gets no length.
  void abandon(Region* region) {
    if (region == nullptr) return;
    if (region->lane == nullptr) {
      headroom_impl_abandon(region->token);
      delete region;
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      region->failed = true;
    }
    end(region);
  }

  /// Returns statistics of a key, timed by the GPU's clock, or by the host's for regions without a
  /// GPU.
  Stats stats(const char* key) {
    Stats out;
    std::memset(&out, 0, sizeof out);
    std::size_t length;
    const std::uint32_t hash = headroom_impl_hash(key, &length);
    const std::uint32_t name = headroom_impl_find(key, length, hash);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = statistics_.find(name);
    if (found != statistics_.end()) headroom_impl_summary(found->second.get(), 1e-9, &out);
    return out;
  }

  GpuCounts counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {resolved_, host_, full_, capturing_, failed_, anchors_};
  }

  /// Waits at most `patience`. Returns true if all regions were resolved or lost.
  bool wait(std::chrono::nanoseconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (forked_) return true;
    hurried_ = true;
    wanted_.notify_one();
    const bool done = idle_.wait_for(lock, patience, [this] { return under_way() == 0; });
    hurried_ = false;
    return done;
  }

 private:
  /// One event of a pair. Marks are in the stream's order.
  struct Mark {
    Region* region;
    int which;
  };
  struct Lane;
  struct Device;

 public:
  struct Region {
    Lane* lane;  ///< Null: timed on the host.
    GpuLibrary::Handle events[2];
    std::uint32_t name, serial;
    bool failed, recorded;
    double begin_ns, end_ns;  ///< Since the device's first anchor.
    double self_ns;
    headroom_token token;  ///< Host regions only.
    std::uint64_t host_begin_ns;
    std::shared_ptr<GpuResults> results;
  };

 private:
  /// The clocks of a GPU and the host: an event that both timed, and the ratio of their rates.
  struct Device {
    GpuLibrary::Handle context;
    int number;
    GpuLibrary::Handle stream;  ///< Our own stream: only anchors run on it.
    GpuLibrary::Handle base, next;
    bool anchored;
    std::uint64_t first_ticks, base_ticks;   ///< Host clock, at the first anchor and at the base.
    double first_ns, base_ns;                ///< GPU clock. The origin is the first event.
    std::uint64_t first_width, base_width;   ///< Host ticks between the readings around each
                                             ///< anchor.
    std::uint64_t next_anchor_ns, pause_ns;  ///< Host clock.
    double rate;                             ///< Host ticks per GPU nanosecond.
    bool gone;                               ///< The context was destroyed.
  };

  struct Lane {
    Device* device;  ///< Null: the context was destroyed.
    GpuLibrary::Handle stream;
    std::thread::id thread;  ///< Owner of a per-thread default stream; else none.
    std::uint64_t last_use;
    std::size_t held;  ///< Regions that the program has begun and not ended.
    /// True if regions have positions on the host's clock. If comparing the clocks failed, regions
    /// have only lengths and follow each other.
    bool placed;
    headroom_impl_writer out;
    std::uint32_t serial;
    std::vector<std::unique_ptr<Region>> regions;
    std::vector<Region*> free;
    std::deque<Mark> marks;
    std::vector<Region*> open;  ///< Regions that the GPU has begun, in order.
    double last_ns;
    std::uint64_t last_ticks;
  };

  GpuRegions() {
    // The collector registers its fork() handlers first, so that locks are taken in one order: our
    // lock, then its lock.
    headroom_impl_lock_started();
    pthread_mutex_unlock(&headroom_impl_state_v1.lock);
    has_library_ = library_.open_cuda() || library_.open_hip();
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().in_child(); });
  }

  /// A child has no polling thread and cannot use its parent's GPU.
  void in_child() {
    forked_ = true;
    statistics_.clear();
    resolved_ = host_ = full_ = failed_ = 0;
    capturing_ = anchors_ = 0;
    mutex_.unlock();
  }

  /// A program may load HIP after its first region.
  bool has_library() {
    if (has_library_.load(std::memory_order_acquire)) return true;
    const std::uint64_t now = host_ns();
    std::uint64_t before = looked_for_hip_ns_.load(std::memory_order_relaxed);
    if (now - before < kLookForHipEveryNs ||
        !looked_for_hip_ns_.compare_exchange_strong(before, now)) {
      return false;
    }
    GpuLibrary found{};
    if (!found.open_hip())
      return false;  // Must not hold our lock, because the loader has a lock,
                     // too.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (has_library_) return true;
    library_ = found;
    has_library_.store(true, std::memory_order_release);
    return true;
  }

  static std::uint64_t host_ns() { return headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC); }

  Region* begin_on_host(const char* key, std::shared_ptr<GpuResults> results, bool as_host) {
    if (!said_.exchange(true)) {
      std::fputs("headroom: no GPU is in use; GPU regions are timed on the host\n", stderr);
    }
    Region* region = new (std::nothrow) Region();
    if (region == nullptr) return nullptr;
    region->name = headroom_impl_key(key);
    region->results = std::move(results);
    if (as_host) region->token = headroom_begin_key(region->name);
    region->host_begin_ns = host_ns();
    return region;
  }

  void end_on_host(Region* region) {
    const std::uint64_t ns = host_ns() - region->host_begin_ns;
    headroom_end(region->token);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++host_;
      add(*region, static_cast<double>(ns), static_cast<double>(ns));
    }
    delete region;
  }

  /// Returns null if the library fails to create a stream or event. REQUIRES: the lock is held, and
  /// the context is current.
  Device* device_of(GpuLibrary::Handle context, int number) {
    for (const auto& known : devices_) {
      if (known->context == context && known->number == number && !known->gone) return known.get();
    }
    start_poller();  // Before any event, so that no region includes its cost.
    auto made = std::make_unique<Device>();
    made->context = context;
    made->number = number;
    if (library_.stream_create(&made->stream, 1 /* non-blocking */) != 0 ||
        library_.event_create(&made->base, 0) != 0 || library_.event_create(&made->next, 0) != 0) {
      return nullptr;
    }
    made->pause_ns = kAnchorFirstPauseNs;
    devices_.push_back(std::move(made));
    return devices_.back().get();
  }

  /// Returns null if there are kStreams lanes and all have unresolved regions. REQUIRES: the lock
  /// is held.
  Lane* lane_of(Device* device, GpuLibrary::Handle stream) {
    const bool per_thread =
        reinterpret_cast<std::uintptr_t>(stream) == GpuLibrary::kStreamPerThread;
    const std::thread::id thread = per_thread ? std::this_thread::get_id() : std::thread::id();
    Lane* idle = nullptr;  // The least recently used idle lane.
    for (const auto& lane : lanes_) {
      if (lane->stream == stream && lane->device == device && lane->thread == thread) {
        lane->last_use = ++uses_;
        return lane.get();
      }
      if (lane->free.size() == kRegions && (idle == nullptr || lane->last_use < idle->last_use)) {
        idle = lane.get();
      }
    }
    if (lanes_.size() >= kStreams && idle == nullptr) return nullptr;
    Lane* lane = idle;
    if (lanes_.size() < kStreams) {
      lanes_.push_back(std::make_unique<Lane>());
      lane = lanes_.back().get();
      for (std::size_t i = 0; i < kRegions; ++i) {
        lane->regions.push_back(std::make_unique<Region>());
        lane->regions.back()->lane = lane;
        lane->free.push_back(lane->regions.back().get());
      }
    }
    if (lane->device != device) drop_events(*lane);  // They belong to the old context.
    lane->device = device;
    lane->stream = stream;
    lane->thread = thread;
    lane->last_use = ++uses_;
    lane->placed = false;
    lane->last_ns = 0;
    char name[64];
    std::snprintf(name, sizeof name, "GPU %d stream %llu", device->number,
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream)));
    if (headroom_impl_lock_started()) {
      headroom_impl_close_ring(&lane->out);
      headroom_impl_open_ring(&lane->out, HEADROOM_RING_STREAM, 0, device->number,
                              reinterpret_cast<std::uintptr_t>(stream), name);
    }
    pthread_mutex_unlock(&headroom_impl_state_v1.lock);
    return lane;
  }

  void drop_events(Lane& lane) {
    for (const auto& region : lane.regions) {
      for (GpuLibrary::Handle& event : region->events) {
        // Events of a destroyed context were destroyed with it. Their handles are invalid.
        if (event != nullptr && !lane.device->gone) library_.event_destroy(event);
        event = nullptr;
      }
    }
  }

  bool create_events(Region* region) {
    for (GpuLibrary::Handle& event : region->events) {
      if (event == nullptr && library_.event_create(&event, 0 /* with timing */) != 0) {
        event = nullptr;
        return false;
      }
    }
    return true;
  }

  std::size_t under_way() const {
    std::size_t marks = 0;
    for (const auto& lane : lanes_) marks += lane->marks.size();
    return marks;
  }

  /// Drops everything of a destroyed context. Regions in a new context start fresh.
  /// REQUIRES: the lock is held.
  void give_up(std::unique_ptr<Device>& device) {
    for (std::unique_ptr<Lane>& lane : lanes_) {
      if (lane->device != device.get()) continue;
      for (Region* region : lane->open) {  // The recording needs an end for each open region.
        if (region->recorded) {
          --lane->out.pending;
          write(*lane, lane->last_ns, region->name, HEADROOM_KIND_END | region->serial << 8);
        }
      }
      failed_ += kRegions - lane->free.size();
      for (const auto& region : lane->regions) region->results.reset();
      if (headroom_impl_lock_started()) headroom_impl_close_ring(&lane->out);
      pthread_mutex_unlock(&headroom_impl_state_v1.lock);
      lane->marks.clear();
      lane->device = nullptr;
      if (lane->held > 0)
        lost_.push_back(std::move(lane));  // The program still holds pointers to
                                           // its regions.
      lane.reset();
    }
    lanes_.erase(std::remove(lanes_.begin(), lanes_.end(), nullptr), lanes_.end());
    device.reset();
  }

  /// REQUIRES: the lock is held.
  void start_poller() {
    if (poller_.joinable() || stopping_) return;
    // Registered after the library's own handler, so this one runs before it.
    std::atexit([] { instance().stop(); });
    try {
      poller_ = std::thread([this] { poll(); });
    } catch (const std::system_error&) {
      stopping_ = true;  // Without the thread nothing is timed. Regions fill up and are dropped.
    }
  }

  /// Wakes the poller, which sleeps if nothing is unresolved. REQUIRES: the lock is held.
  void wake() {
    if (sleeping_) wanted_.notify_one();
  }

  void stop() {
    if (forked_) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      wanted_.notify_one();
    }
    if (poller_.joinable()) poller_.join();
  }

  void poll() {
    pthread_setname_np(pthread_self(), "headroom-gpu");
    // Querying an event does not use a stream that another thread captures. Without this mode, the
    // query would end a capture in CUDA's global mode.
    int mode = 2;  // Relaxed.
    library_.exchange_capture_mode(&mode);
    std::unique_lock<std::mutex> lock(mutex_);
    for (bool last = false; !last;) {
      if (under_way() == 0 && !stopping_) {
        sleeping_ = true;
        wanted_.wait(lock, [this] { return under_way() != 0 || stopping_; });
        sleeping_ = false;
      }
      last = stopping_;
      // Iterates by index, because other threads may add elements while the lock is free.
      for (std::size_t i = 0; i < devices_.size(); ++i) {  // NOLINT(modernize-loop-convert)
        Device& device = *devices_[i];
        if (device.gone || host_ns() < device.next_anchor_ns) continue;
        lock.unlock();
        const bool there = anchor(device);
        lock.lock();
        device.gone |= !there;
      }
      for (std::size_t i = 0; i < lanes_.size(); ++i) {  // NOLINT(modernize-loop-convert)
        while (resolve(*lanes_[i])) {                    // Other threads want the lock, too.
          lock.unlock();
          std::this_thread::yield();
          lock.lock();
        }
      }
      for (std::unique_ptr<Device>& device : devices_) {
        if (device->gone) give_up(device);
      }
      devices_.erase(std::remove(devices_.begin(), devices_.end(), nullptr), devices_.end());
      if (under_way() == 0) {
        idle_.notify_all();
      } else if (!last) {
        wanted_.wait_for(lock, std::chrono::microseconds(hurried_ ? 200 : 5000),
                         [this] { return stopping_ || hurried_; });
        if (hurried_) {  // Lets other threads take the lock between two rounds.
          lock.unlock();
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          lock.lock();
        }
      }
    }
  }

  /// Compares the clocks. Records several events and reads the host's clock before and after each.
  /// Keeps the event with the shortest time between its readings. Runs without the lock, because it
  /// may take a millisecond. Only the poller accesses the fields used here. Returns false if the
  /// context was destroyed.
  bool anchor(Device& device) {
    if (!library_.make_current(device.context, device.number)) return false;
    const std::uint64_t now = host_ns();
    const std::uint32_t clock = headroom_impl_state_v1.clock;
    const bool is_first = !device.anchored;
    std::uint64_t best = UINT64_MAX;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const std::uint64_t before = headroom_impl_ticks(clock);
      const int recorded = library_.event_record(device.next, device.stream);
      if (GpuLibrary::context_is_gone(recorded)) return false;
      if (recorded != 0) break;
      int state;
      std::uint64_t after;
      const std::uint64_t deadline = host_ns() + kAnchorPatienceNs;
      do {
        state = library_.event_query(device.next);
        after = headroom_impl_ticks(clock);
      } while (state == GpuLibrary::kNotReady && host_ns() < deadline);
      if (state != 0) break;  // The GPU is busy: keep the last anchor.
      if (after - before >= best) continue;
      float ms = 0;
      if (device.anchored && library_.event_elapsed(&ms, device.base, device.next) != 0) break;
      best = after - before;
      device.base_ns += static_cast<double>(ms) * 1e6;
      device.base_ticks = before + best / 2;
      device.base_width = best;
      device.anchored = true;
      std::swap(device.base, device.next);
    }
    if (best == UINT64_MAX) {
      device.next_anchor_ns = now + device.pause_ns;
      device.pause_ns = std::min(2 * device.pause_ns, kAnchorEveryNs);
      return true;
    }
    device.next_anchor_ns = now + kAnchorEveryNs;
    device.pause_ns = kAnchorFirstPauseNs;
    ++anchors_;
    if (is_first) {
      device.first_ticks = device.base_ticks;
      device.first_ns = device.base_ns;
      device.first_width = device.base_width;
    }
    return true;
  }

  /// Returns host ticks per GPU nanosecond. Uses the anchors once they are so far apart that their
  /// combined error is below 1 us per second. Until then assumes that a GPU nanosecond equals a
  /// host nanosecond; the estimate of the host's tick rate improves while the program runs.
  static double rate_of(const Device& device) {
    const double ticks_per_ns = 1e-9 / headroom_impl_seconds_per_tick();
    const double apart = device.base_ns - device.first_ns;
    const double off_ticks = static_cast<double>(device.first_width + device.base_width) / 2;
    if (off_ticks >= 1e-6 * apart * ticks_per_ns) return ticks_per_ns;
    return static_cast<double>(device.base_ticks - device.first_ticks) / apart;
  }

  /// Takes the times of a stream's events in order, up to the first event that the GPU has not
  /// reached, but at most kAtOnce times. Returns true if more may be available. REQUIRES: the lock
  /// is held.
  bool resolve(Lane& lane) {
    if (lane.marks.empty() || lane.device->gone) return false;
    Device& device = *lane.device;
    // Lengths alone need no clock comparison. The comparison may never succeed on a GPU that is
    // shared or whose queues are full.
    constexpr std::uint64_t kMostTries = 4;
    if (!device.anchored && device.pause_ns < kAnchorFirstPauseNs << kMostTries) return false;
    if (!library_.make_current(device.context, device.number)) {
      device.gone = true;
      return false;
    }
    if (!lane.placed && device.anchored && lane.open.empty()) {
      lane.placed = true;
      lane.last_ns = std::numeric_limits<double>::lowest();  // Regions may begin before the origin.
    }
    if (lane.out.ring != nullptr && device.anchored) device.rate = rate_of(device);
    constexpr int kAtOnce = 32;
    for (int taken = 0; !lane.marks.empty(); ++taken) {
      if (taken == kAtOnce) return true;
      const Mark mark = lane.marks.front();
      Region& region = *mark.region;
      if (!(mark.which == 1 && region.failed)) {
        const int state = library_.event_query(region.events[mark.which]);
        if (state == GpuLibrary::kNotReady) return false;
        if (GpuLibrary::context_is_gone(state)) {
          device.gone = true;
          return false;
        }
        if (state != 0) region.failed = true;
      }
      lane.marks.pop_front();
      if (mark.which == 0) {
        reached_begin(lane, region);
      } else {
        reached_end(lane, region);
      }
      if (device.gone) return false;
    }
    return false;
  }

  void reached_begin(Lane& lane, Region& region) {
    Device& device = *lane.device;
    float ms = 0;
    if (lane.placed && !region.failed) {
      const int error = library_.event_elapsed(&ms, device.base, region.events[0]);
      device.gone |= GpuLibrary::context_is_gone(error);
      region.failed = error != 0;
    }
    if (region.failed) return;
    region.begin_ns = lane.last_ns;
    if (lane.placed) {
      region.begin_ns = std::max(lane.last_ns, device.base_ns + static_cast<double>(ms) * 1e6);
    }
    region.self_ns = 0;
    region.serial = ++lane.serial & 0xffffffu;
    pass(lane, region.begin_ns);
    lane.open.push_back(&region);
    region.recorded = false;
    if (lane.out.ring != nullptr && lane.placed) {
      region.recorded = headroom_impl_room(&lane.out, 2) != 0;
    } else if (lane.out.ring != nullptr) {
      HEADROOM_IMPL_PUT(lane.out.ring->dropped, lane.out.ring->dropped + 1);
    }
    if (region.recorded) {
      ++lane.out.pending;
      write(lane, region.begin_ns, region.name, HEADROOM_KIND_BEGIN | region.serial << 8);
    }
  }

  void reached_end(Lane& lane, Region& region) {
    float ms = 0;
    const auto open = std::find(lane.open.begin(), lane.open.end(), &region);
    const bool begun = open != lane.open.end();
    // Computes the length from the region's own two events: differences from the base would lose
    // the digits of a short region.
    const bool timed = !region.failed && begun &&
                       library_.event_elapsed(&ms, region.events[0], region.events[1]) == 0;
    if (begun) {
      region.end_ns = region.begin_ns + std::max(0.0, static_cast<double>(ms) * 1e6);
      const double at = std::max(lane.last_ns, region.end_ns);
      pass(lane, at);
      lane.open.erase(open);
      if (region.recorded) {  // The recording needs an end, even for a lost region.
        --lane.out.pending;
        write(lane, at, region.name, HEADROOM_KIND_END | region.serial << 8);
      }
    }
    if (timed) {
      ++resolved_;
      add(region, region.end_ns - region.begin_ns, region.self_ns);
    } else {
      ++failed_;
    }
    region.results.reset();
    lane.free.push_back(&region);
  }

  /// Adds the time up to `ns` to the self time of the region that began last.
  static void pass(Lane& lane, double ns) {
    if (!lane.open.empty()) lane.open.back()->self_ns += ns - lane.last_ns;
    lane.last_ns = ns;
  }

  void write(Lane& lane, double ns, std::uint32_t name, std::uint32_t info) {
    lane.last_ticks = std::max(lane.last_ticks, ticks_at(*lane.device, ns));
    headroom_impl_write(&lane.out, lane.last_ticks, name, info);
    headroom_impl_publish(&lane.out);
  }

  /// Converts a time of the GPU to host ticks.
  static std::uint64_t ticks_at(const Device& device, double ns) {
    const double off = (ns - device.base_ns) * device.rate;
    return device.base_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(off));
  }

  /// REQUIRES: the lock is held.
  void add(const Region& region, double ns, double self_ns) {
    auto& block = statistics_[region.name];
    if (block == nullptr) {
      block = std::make_unique<headroom_impl_stats_block>();
      block->min = UINT64_MAX;
    }
    const auto length = static_cast<std::uint64_t>(std::llround(ns));
    // Lengths of overlapping regions add up, because streams overlap and share keys.
    headroom_impl_count(block.get(), length, length,
                        static_cast<std::uint64_t>(std::llround(self_ns)));
    if (region.results != nullptr) {
      const std::uint32_t name = region.name;
      const headroom_name& text = headroom_names_of(headroom_impl_state_v1.shared)[name];
      const std::string key(headroom_text_of(headroom_impl_state_v1.shared) + text.offset,
                            text.length);
      const std::lock_guard<std::mutex> lock(region.results->mutex);
      region.results->times.add(key, ns * 1e-9);
    }
  }

  GpuLibrary library_ = {};
  std::atomic<bool> has_library_ = false;
  std::atomic<std::uint64_t> looked_for_hip_ns_ = host_ns();
  std::atomic<bool> forked_ = false, said_ = false;
  std::mutex mutex_;
  std::condition_variable wanted_, idle_;
  bool sleeping_ = false, stopping_ = false, hurried_ = false;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Lane>> lanes_, lost_;
  std::uint64_t uses_ = 0;  ///< Counts uses of lanes.
  std::unordered_map<std::uint32_t, std::unique_ptr<headroom_impl_stats_block>> statistics_;
  std::uint64_t resolved_ = 0, host_ = 0, full_ = 0, failed_ = 0;
  std::atomic<std::uint64_t> capturing_ = 0, anchors_ = 0;
  std::thread poller_;
};

}  // namespace detail

#endif

}  // namespace timer_v1
}  // namespace headroom

// NOLINTEND(readability-identifier-naming)
