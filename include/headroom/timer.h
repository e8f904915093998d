// Headroom's region timer for C and C++: headers only, no dependency but libc and pthreads.
//
//   #include <headroom/timer.h>
//
//   headroom_token token = headroom_begin("FORWARD");
//   forward(batch);
//   headroom_end(token);
//
// Regions nest, and may overlap: what ends is what the token names. Each thread keeps exact
// statistics of its regions (count, total, own time, least, most, mean, deviation, a histogram for
// percentiles); headroom_stats_of() adds up the threads. Where the program runs under
// `headroom record`, each begin, end, mark and counter also becomes an event of the recording.
//
// What it costs: two clock reads and two stores a region, and the statistics; no lock, no
// allocation and no system call after a thread's first region of a key (docs/overhead.md). Memory
// is bounded: 8 MiB a recorded thread, 5.4 KiB a key and thread. What does not fit is not recorded
// and counted: headroom_drops_now().
//
//   HEADROOM=0        in the environment: nothing is collected
//   HEADROOM_DISABLE  defined before this header: its functions are empty
//
// All functions may be called from any thread, none from a signal handler, and none fails: there is
// nothing that a training loop could do about it. Each image (program, shared library) that
// includes this header has statistics of its own; a recording holds those of all of them.
// Linux, GCC or clang, C11 or C++17.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): C, too.

#include <stdint.h>

#if defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/// What headroom_begin() gives out: names one open region of one thread; 0 names none.
typedef uint64_t headroom_token;

/// Statistics of a key over all threads of this image, those that ended included. Times are
/// seconds; with a count of 0 all of them are 0.
struct headroom_stats {
  uint64_t count;  ///< Regions that ended.
  double total_s;  ///< Time during which any of them was open, summed over threads: of regions of
                   ///< one key that nest or overlap, each moment once.
  double self_s;   ///< The part during which no other region was begun inside and still open.
  double min_s, max_s, mean_s;
  double stdev_s;              ///< Of the sample (n - 1); 0 with fewer than two.
  double p50_s, p90_s, p99_s;  ///< From a histogram: at most 3.2 % off.
};

/// What was not collected, and why. All counts are since the program began, of this image.
struct headroom_drops {
  uint64_t ring;        ///< Events for which the recorder was too slow; statistics have them.
  uint64_t threads;     ///< Threads beyond the 128th at a time: their events, not their statistics.
  uint64_t depth;       ///< Regions inside 256 open ones: neither.
  uint64_t names;       ///< Uses of a key beyond the 65,000th, or the 16 MiB of their text: they
                        ///< are one key, "(too many names)".
  uint64_t unmatched;   ///< Ends of what is not open on the calling thread.
  uint64_t statistics;  ///< Regions of keys beyond the 16,383rd name: their statistics.
};

#if defined(HEADROOM_DISABLE)

static inline uint32_t headroom_key(const char* name) { return (void)name, 0; }
static inline headroom_token headroom_begin_key(uint32_t key) { return (void)key, 0; }
static inline headroom_token headroom_begin(const char* key) { return (void)key, 0; }
static inline headroom_token headroom_begin_step(int64_t number) { return (void)number, 0; }
static inline void headroom_end(headroom_token token) { (void)token; }
static inline void headroom_mark(const char* key) { (void)key; }
static inline void headroom_gradient(const char* parameter, int64_t bytes) {
  (void)parameter, (void)bytes;
}
static inline void headroom_counter(const char* key, double value) { (void)key, (void)value; }
static inline void headroom_helper(void) {}
static inline void headroom_enable(int on) { (void)on; }
static inline int headroom_enabled(void) { return 0; }
static inline int headroom_recorded(void) { return 0; }
static inline int headroom_stats_of(const char* key, struct headroom_stats* out) {
  const struct headroom_stats none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return (void)key, *out = none, 0;
}
static inline struct headroom_drops headroom_drops_now(void) {
  const struct headroom_drops none = {0, 0, 0, 0, 0, 0};
  return none;
}
#define HEADROOM_BEGIN(key) UINT64_C(0)

#else

#include "headroom/detail/collector.h"

/// Interns a key: the same text gives the same number as long as the program runs. For loops that
/// begin a region by number.
static inline uint32_t headroom_key(const char* name) { return headroom_impl_key(name); }

/// Begins a region on the calling thread. `key` from headroom_key().
static inline headroom_token headroom_begin_key(uint32_t key) {
  return headroom_impl_begin(key, key, HEADROOM_KIND_BEGIN, 0);
}

/// Begins a region. The key is any text (UTF-8) but "ALL", which means all keys in queries; it is
/// looked up by content, about 10 ns for a short one. HEADROOM_BEGIN looks a literal up once.
static inline headroom_token headroom_begin(const char* key) {
  if (!headroom_impl_on()) return 0;
  return headroom_begin_key(headroom_impl_key(key));
}

/// Begins a training step, and numbers it, from 0 on; it has the statistics of the key "STEP". A
/// number below 0, of a warm-up, is none: it is in those statistics, and in traces a region like
/// others.
static inline headroom_token headroom_begin_step(int64_t number) {
  if (!headroom_impl_on()) return 0;
  const uint32_t key = headroom_impl_key("STEP");
  if (number < 0) return headroom_begin_key(key);
  return headroom_impl_begin(key, key, HEADROOM_KIND_STEP, number);
}

/// Ends the region, also if regions that began later are still open. A token that names no open
/// region of the calling thread does nothing but count as unmatched; 0 does nothing at all.
static inline void headroom_end(headroom_token token) {
  if (token != 0) headroom_impl_end(token);
}

/// A moment worth finding again.
static inline void headroom_mark(const char* key) {
  if (headroom_impl_on()) headroom_impl_event(headroom_impl_key(key), HEADROOM_KIND_MARK, 0, 0);
}

/// From here on the gradient of a parameter, of so many bytes, may be sent to other ranks.
static inline void headroom_gradient(const char* parameter, int64_t bytes) {
  if (headroom_impl_on()) {
    headroom_impl_event(headroom_impl_key(parameter), HEADROOM_KIND_GRADIENT, 1, (uint64_t)bytes);
  }
}

/// This process works for the one that started it (a worker of a data loader): what it records goes
/// into that one's file, on tracks of its own. To be called before its first region; its children
/// are helpers, too.
static inline void headroom_helper(void) { headroom_impl_be_helper(); }

/// A sampled value, in a unit of the caller's; the name should tell it ("queue_depth", "loss").
static inline void headroom_counter(const char* key, double value) {
  if (!headroom_impl_on()) return;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  headroom_impl_event(headroom_impl_key(key), HEADROOM_KIND_COUNTER, 1, bits);
}

/// Stops or resumes collecting in this image. Regions that are open may still end.
static inline void headroom_enable(int on) { headroom_impl_enable(on); }
static inline int headroom_enabled(void) { return headroom_impl_enabled(); }

/// Whether events go to a recording.
static inline int headroom_recorded(void) { return headroom_impl_recorded(); }

/// Statistics of a key; "ALL": of all keys together, nested regions counting once each. Returns
/// whether the key is known (began at least once), else *out is all 0. Takes a lock; not for hot
/// paths.
static inline int headroom_stats_of(const char* key, struct headroom_stats* out) {
  return headroom_impl_stats(key, out);
}

static inline struct headroom_drops headroom_drops_now(void) { return headroom_impl_drops(); }

/// headroom_begin() for a string literal: looked up the first time only. Tells a recording where in
/// the source it stands.
#define HEADROOM_BEGIN(literal)                                                                 \
  (!headroom_impl_on() ? UINT64_C(0) : __extension__({                                          \
    static struct headroom_impl_site headroom_here = {"" literal, __func__, __FILE__, __LINE__, \
                                                      0};                                       \
    headroom_impl_begin_site(&headroom_here);                                                   \
  }))

#endif

#if defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier)
