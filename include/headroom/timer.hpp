// Headroom's region timer for C++. Header-only, C++17.
//
//   #include <headroom/timer.hpp>
//
//   for (std::int64_t i = 0; i < batches; ++i) {
//     headroom::Step step(i);
//     HEADROOM_SCOPE("FORWARD");
//     ...
//   }
//   std::printf("%f s\n", headroom::stats("FORWARD").mean_s);
//
// Uses the same collector as headroom/timer.h, whose notes on cost, memory and threads apply.
// headroom::Timer has the methods of the MAELSTROM timer (start, end, get_time_stats, ...) over any
// clock. HEADROOM_DISABLE removes all regions from the program. headroom::Timer still times,
// because the program uses its results.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "headroom/timer.h"

// NOLINTBEGIN(readability-identifier-naming): names that users of other timers know.

namespace headroom {
// Two images of a program may hold different versions of these classes.
inline namespace timer_v1 {

/// Keys with a meaning in reports. Any other text is a valid key, too.
namespace keys {
inline constexpr char kEpoch[] = "EPOCH";
inline constexpr char kBatch[] = "BATCH";
inline constexpr char kForward[] = "FORWARD";
inline constexpr char kBackward[] = "BACKWARD";
inline constexpr char kComm[] = "COMM";
inline constexpr char kIo[] = "IO";  ///< The loop waits for its next batch.
inline constexpr char kOther[] = "OTHER";
inline constexpr char kAll[] = "ALL";  ///< For queries only: all keys together.

// Determined's names for the same phases: kDataloaderNext corresponds to kIo, and so on.
inline constexpr char kDataloaderNext[] = "dataloader_next";
inline constexpr char kToDevice[] = "to_device";
inline constexpr char kTrainBatch[] = "train_batch";
inline constexpr char kTrainBatchBackward[] = "train_batch.backward";
inline constexpr char kSyncOptimizers[] = "train_batch.sync_optimizers";
inline constexpr char kStepLrSchedulers[] = "step_lr_schedulers";
inline constexpr char kFromDevice[] = "from_device";
inline constexpr char kReduceMetrics[] = "reduce_metrics";
}  // namespace keys

using Stats = ::headroom_stats;
using Drops = ::headroom_drops;

/// A key that is looked up once, for loops that choose between keys at run time.
class Key {
 public:
  explicit Key(const char* name) : number_(headroom_key(name)) {}
  explicit Key(const std::string& name) : Key(name.c_str()) {}
  std::uint32_t number() const { return number_; }

 private:
  std::uint32_t number_;
};

/// Like headroom_begin(), for regions that do not fit a scope. Regions may overlap.
[[nodiscard]] inline headroom_token begin(const char* key) { return headroom_begin(key); }
[[nodiscard]] inline headroom_token begin(const std::string& key) { return begin(key.c_str()); }
[[nodiscard]] inline headroom_token begin(Key key) { return headroom_begin_key(key.number()); }
inline void end(headroom_token token) { headroom_end(token); }

/// Like headroom_counter(), headroom_mark() and headroom_gradient().
inline void counter(const char* key, double value) { headroom_counter(key, value); }
inline void mark(const char* key) { headroom_mark(key); }
inline void gradient(const char* parameter, std::int64_t bytes) {
  headroom_gradient(parameter, bytes);
}

/// Returns statistics of a key over all threads; count is 0 if the key is unknown. keys::kAll sums
/// all keys.
inline Stats stats(const char* key) {
  Stats out;
  headroom_stats_of(key, &out);
  return out;
}
inline Stats stats(const std::string& key) { return stats(key.c_str()); }

inline Drops drops() { return headroom_drops_now(); }
inline void enable(bool on) { headroom_enable(on ? 1 : 0); }
inline bool enabled() { return headroom_enabled() != 0; }
inline bool recorded() { return headroom_recorded() != 0; }

/// A region that ends with its scope, even after an exception.
class [[nodiscard]] Scope {
 public:
  explicit Scope(const char* key) : token_(headroom_begin(key)) {}
  explicit Scope(const std::string& key) : Scope(key.c_str()) {}
  explicit Scope(Key key) : token_(headroom_begin_key(key.number())) {}
#if !defined(HEADROOM_DISABLE)
  explicit Scope(::headroom_impl_site& site)
      : token_(headroom_impl_on() ? headroom_impl_begin_site(&site) : 0) {}
#endif
  ~Scope() { headroom_end(token_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  headroom_token token_;
};

/// A training step, numbered by the caller.
class [[nodiscard]] Step {
 public:
  explicit Step(std::int64_t number) : token_(headroom_begin_step(number)) {}
  ~Step() { headroom_end(token_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

 private:
  headroom_token token_;
};

// --- headroom::Timer -----------------------------------------------------------------------------

/// Statistics in seconds; all 0 if nothing was timed.
struct TimeStats {
  double min = 0, mean = 0, median = 0, max = 0;
  double stdev = 0;  ///< Sample deviation (n - 1); 0 with fewer than two.
};

/// Lengths by key, in bounded memory. Count, minimum, maximum, mean and deviation cover all
/// lengths. The latest kKept lengths of each key are kept. Only one thread at a time may use it.
class TimeTable {
 public:
  static constexpr std::size_t kKept = 4096;

  /// Reserves the key's position in print().
  void expect(const std::string& key) { at(key); }

  /// REQUIRES: seconds is not NaN.
  void add(const std::string& key, double seconds) {
    Times& times = at(key);
    if (times.latest.size() < kKept) {
      times.latest.push_back(seconds);
    } else {
      times.latest[times.count % kKept] = seconds;
    }
    if (times.count == 0 || seconds < times.min) times.min = seconds;
    if (times.count == 0 || seconds > times.max) times.max = seconds;
    ++times.count;
    // Welford's recurrence avoids cancellation in long runs.
    const double off = seconds - times.mean;
    times.mean += off / static_cast<double>(times.count);
    times.squares += off * (seconds - times.mean);
  }

  /// Returns the latest kKept lengths of a key, oldest first. "ALL" returns those of all keys, key
  /// by key.
  std::vector<double> latest(const std::string& key) const {
    std::vector<double> out;
    for (const Times* times : select(key)) {
      const std::size_t size = times->latest.size();
      const std::size_t oldest = size < kKept ? 0 : times->count % kKept;
      for (std::size_t i = 0; i < size; ++i) {
        out.push_back(times->latest[(oldest + i) % size]);
      }
    }
    return out;
  }

  /// Returns statistics of all lengths, except that the median is the median of latest().
  TimeStats stats(const std::string& key) const {
    TimeStats out;
    double count = 0, squares = 0;
    for (const Times* times : select(key)) {  // Chan's formula merges two samples.
      if (times->count == 0) continue;
      const double n = static_cast<double>(times->count);
      const double off = times->mean - out.mean;
      out.min = count == 0 ? times->min : std::min(out.min, times->min);
      out.max = count == 0 ? times->max : std::max(out.max, times->max);
      out.mean += off * n / (count + n);
      squares += times->squares + off * off * count * n / (count + n);
      count += n;
    }
    if (count == 0) return out;
    out.stdev = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
    std::vector<double> sorted = latest(key);
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    out.median = *middle;
    if (sorted.size() % 2 == 0) {
      out.median = (out.median + *std::max_element(sorted.begin(), middle)) / 2;
    }
    return out;
  }

  /// Prints two lines per key in order of first use: the key, then its statistics in seconds. Ends
  /// with "---".
  void print(std::ostream& out) const {
    for (const Times& times : times_) {
      if (times.count == 0) continue;
      const TimeStats s = stats(times.key);
      char line[256];
      std::snprintf(line, sizeof line, "min: %.5f mean: %.5f median: %.5f max: %.5f stdev: %.5f\n",
                    s.min, s.mean, s.median, s.max, s.stdev);
      out << times.key << '\n' << line;
    }
    out << "---\n";
  }

 private:
  struct Times {
    std::string key;
    std::vector<double> latest;  ///< A ring buffer once it holds kKept lengths.
    std::uint64_t count;
    double min, max, mean, squares;
  };

  Times& at(const std::string& key) {
    const auto [at, is_new] = index_.try_emplace(key, times_.size());
    if (is_new) times_.push_back({key, {}, 0, 0, 0, 0, 0});
    return times_[at->second];
  }

  std::vector<const Times*> select(const std::string& key) const {
    std::vector<const Times*> out;
    const auto at = index_.find(key);
    if (at != index_.end()) out.push_back(&times_[at->second]);
    if (key == keys::kAll) {
      for (const Times& times : times_) out.push_back(&times);
    }
    return out;
  }

  std::map<std::string, std::size_t> index_;
  std::vector<Times> times_;
};

namespace detail {

/// Closes a region that was left open. It gets no statistics.
inline void abandon(headroom_token region) {
#if defined(HEADROOM_DISABLE)
  (void)region;
#else
  headroom_impl_abandon(region);
#endif
}

/// Writes `text` to a new file. Returns an error if the file exists.
inline std::error_code write_new_file(const std::string& path, const std::string& text) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0 && descriptor <= 2) {
    // The file has the number of a standard descriptor that the program closed, and would receive
    // the output meant for that descriptor.
    const int low = descriptor;
    descriptor = fcntl(low, F_DUPFD_CLOEXEC, 3);
    close(low);
  }
  std::FILE* file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
  if (file == nullptr) return {errno, std::generic_category()};
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0) return {errno, std::generic_category()};
  return written ? std::error_code() : std::error_code(error, std::generic_category());
}

}  // namespace detail

/// The host's monotonic clock. A user's clock is a class with these three functions. Its tokens may
/// have any copyable type.
class HostClock {
 public:
  std::uint64_t start() { return now(); }
  std::uint64_t end() { return now(); }
  /// Returns seconds between two tokens. May wait until both are available.
  double get_time(std::uint64_t start, std::uint64_t end) {
    return static_cast<double>(end - start) * 1e-9;
  }

 private:
  static std::uint64_t now() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
};

/// The MAELSTROM timer: regions by key, in seconds. Each is also a region of the recording and of
/// headroom::stats().
///
/// Thread-safe. The thread that began a region ends it. Among a thread's open regions of one key,
/// the last begun ends first. An end without a start, an open region and an unused key are not
/// errors. If a thread has kNested open regions of a key, exceptions must have left them, and the
/// thread's next start of that key abandons them. Memory is bounded. The timer reads a length from
/// the clock when a query needs it, or after kPending more regions of the key have ended. A GPU
/// clock therefore need not wait.
template <class Clock>
class BasicTimer {
 public:
  static constexpr std::size_t kKeys = 1024, kOpen = 256, kNested = 32, kPending = 256;

  explicit BasicTimer(Clock clock = Clock()) : clock_(std::move(clock)) {}

  void start(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Regions* regions = find(key);
    if (regions != nullptr) abandon(regions->open);
    if (regions == nullptr || regions->open.size() == kOpen) {
      ++ignored_;
      return;
    }
    const headroom_token region = headroom_begin(key.c_str());
    regions->open.push_back({std::this_thread::get_id(), region, clock_.start()});
  }

  void end(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = regions_.find(key);
    if (found != regions_.end()) {
      auto& open = found->second.open;
      for (std::size_t i = open.size(); i-- > 0;) {
        if (open[i].thread != std::this_thread::get_id()) continue;
        auto& pending = found->second.pending;
        pending.emplace_back(open[i].start, clock_.end());
        headroom_end(open[i].region);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        if (pending.size() > kPending) complete(*found, kPending / 2);
        return;
      }
    }
    ++ignored_;
  }

  /// Reads all pending lengths from the clock. Open regions stay open.
  void complete_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& regions : regions_) complete(regions, 0);
  }

  /// Returns the latest TimeTable::kKept lengths of a key in seconds, in order of their ends. "ALL"
  /// returns those of all keys.
  std::vector<double> get_time(const std::string& key) {
    complete_all();
    const std::lock_guard<std::mutex> lock(mutex_);
    return times_.latest(key);
  }

  TimeStats get_time_stats(const std::string& key) {
    complete_all();
    const std::lock_guard<std::mutex> lock(mutex_);
    return times_.stats(key);
  }

  void print_all_time_stats(std::ostream& out = std::cout) {
    complete_all();
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.print(out);
  }

  /// Like print_all_time_stats(), but to a new file. Returns an error if the file exists.
  std::error_code save_all_time_stats(const std::string& path) {
    std::ostringstream text;
    print_all_time_stats(text);
    return detail::write_new_file(path, text.str());
  }

  /// Returns the number of ignored starts and ends: ends without a start on this thread, abandoned
  /// starts, the key "ALL", more than kKeys keys, or more than kOpen open regions of a key.
  std::uint64_t ignored() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ignored_;
  }

 private:
  using StartToken = decltype(std::declval<Clock&>().start());
  using EndToken = decltype(std::declval<Clock&>().end());
  struct Open {
    std::thread::id thread;
    headroom_token region;
    StartToken start;
  };
  struct Regions {
    std::vector<Open> open;
    std::vector<std::pair<StartToken, EndToken>> pending;
  };

  Regions* find(const std::string& key) {
    if (key == keys::kAll) return nullptr;
    const auto found = regions_.find(key);
    if (found != regions_.end()) return &found->second;
    if (regions_.size() == kKeys) return nullptr;
    times_.expect(key);
    return &regions_[key];
  }

  /// Closes this thread's open regions if they are kNested or more, which exceptions must have
  /// left.
  void abandon(std::vector<Open>& open) {
    const auto is_ours = [](const Open& o) { return o.thread == std::this_thread::get_id(); };
    if (open.size() < kNested) return;
    const auto ours = static_cast<std::size_t>(std::count_if(open.begin(), open.end(), is_ours));
    if (ours < kNested) return;
    for (std::size_t i = open.size(); i-- > 0;) {
      if (is_ours(open[i])) detail::abandon(open[i].region);
    }
    open.erase(std::remove_if(open.begin(), open.end(), is_ours), open.end());
    ignored_ += ours;
  }

  void complete(std::pair<const std::string, Regions>& regions, std::size_t leave) {
    auto& pending = regions.second.pending;
    const std::size_t done = pending.size() > leave ? pending.size() - leave : 0;
    for (std::size_t i = 0; i < done; ++i) {
      times_.add(regions.first, clock_.get_time(pending[i].first, pending[i].second));
    }
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(done));
  }

  std::mutex mutex_;
  Clock clock_;
  std::map<std::string, Regions> regions_;
  TimeTable times_;
  std::uint64_t ignored_ = 0;
};

using Timer = BasicTimer<HostClock>;

}  // namespace timer_v1
}  // namespace headroom

#define HEADROOM_IMPL_JOIN_NOW(a, b) a##b
#define HEADROOM_IMPL_JOIN(a, b) HEADROOM_IMPL_JOIN_NOW(a, b)

/// Makes the rest of the block a region. Looks the literal key up once. A recording also gets the
/// line and the function.
#if defined(HEADROOM_DISABLE)
#define HEADROOM_SCOPE(literal) static_assert(true, "" literal)
#else
#define HEADROOM_SCOPE(literal) HEADROOM_IMPL_SCOPE(literal, __COUNTER__)
/// Numbers the variables with __COUNTER__ instead of __LINE__, because one macro may contain two
/// regions. In an inline function, the names may differ between translation units, so each unit
/// looks up its own place.
#define HEADROOM_IMPL_SCOPE(literal, number)                                  \
  static ::headroom_impl_site HEADROOM_IMPL_JOIN(headroom_site_, number) = {  \
      "" literal, static_cast<const char*>(__func__), __FILE__, __LINE__, 0}; \
  const ::headroom::Scope HEADROOM_IMPL_JOIN(headroom_scope_,                 \
                                             number)(HEADROOM_IMPL_JOIN(headroom_site_, number))
#endif

// NOLINTEND(readability-identifier-naming)
