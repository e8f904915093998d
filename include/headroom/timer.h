// Headroom's region timer for C and C++. Header-only; requires only libc and pthreads.
//
//   #include <headroom/timer.h>
//
//   headroom_token token = headroom_begin("FORWARD");
//   forward(batch);
//   headroom_end(token);
//
// Regions nest and may overlap: a token says which region ends. Each thread keeps exact statistics
// of its regions: count, total, self time, minimum, maximum, mean, deviation, and a histogram for
// percentiles. headroom_stats_of() sums over threads. Under `headroom record`, each begin, end,
// mark and counter also becomes an event of the recording.
//
// A region costs two clock reads, two stores and the statistics. After a thread's first region of a
// key there is no lock, no allocation and no system call (docs/overhead.md). Memory is bounded: 8
// MiB per recorded thread, 5.4 KiB per key and thread. Events without room are not recorded;
// headroom_drops_now() counts them.
//
//   HEADROOM=0        in the environment: nothing is collected
//   HEADROOM_DISABLE  defined before this header: its functions are empty
//
// Any thread may call any function, but signal handlers must not. No function fails, because a
// training loop could not handle the error. Each image (program or shared library) that includes
// this header has separate statistics. A recording holds those of all images. Linux, GCC or clang,
// C11 or C++17.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): also compiled as C.

#include <stdint.h>

#if defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/// Returned by headroom_begin(). Names one open region of one thread; 0: no region.
typedef uint64_t headroom_token;

/// Statistics of a key over all threads of this image, including ended threads. Times are in
/// seconds. All are 0 if count is 0.
struct headroom_stats {
  uint64_t count;  ///< Regions that ended.
  double total_s;  ///< Time in which at least one region was open, summed over threads. Nested or
                   ///< overlapping regions of one key count each moment once.
  double self_s;   ///< Time in which the thread's newest open region had this key.
  double min_s, max_s, mean_s;
  double stdev_s;              ///< Sample deviation (n - 1); 0 with fewer than two.
  double p50_s, p90_s, p99_s;  ///< From a histogram: at most 3.2 % off.
};

/// Counts of lost data, by reason, in this image since the program began.
struct headroom_drops {
  uint64_t ring;        ///< Events lost because the recorder was too slow; statistics include them.
  uint64_t threads;     ///< Threads beyond 128 at a time: statistics have them, recordings do not.
  uint64_t depth;       ///< Regions inside 256 open ones: neither statistics nor recordings have
                        ///< them.
  uint64_t names;       ///< Uses of a key beyond the 65,000th, or beyond 16 MiB of text. They share
                        ///< the key "(too many names)".
  uint64_t unmatched;   ///< Ends without an open region on the calling thread.
  uint64_t statistics;  ///< Regions of keys beyond the 16,383rd name, which have no statistics.
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

/// Interns a key. The same text gives the same number until the program ends. Use it in loops that
/// begin regions by number.
static inline uint32_t headroom_key(const char* name) { return headroom_impl_key(name); }

/// Begins a region on the calling thread. Requires a `key` from headroom_key().
static inline headroom_token headroom_begin_key(uint32_t key) {
  return headroom_impl_begin(key, key, HEADROOM_KIND_BEGIN, 0);
}

/// Begins a region. The key is any UTF-8 text except "ALL", which means all keys in queries. A
/// look-up by content takes about 10 ns for a short key. HEADROOM_BEGIN looks a literal up only
/// once.
static inline headroom_token headroom_begin(const char* key) {
  if (!headroom_impl_on()) return 0;
  return headroom_begin_key(headroom_impl_key(key));
}

/// Begins a training step. `number` counts from 0. The step counts in the statistics of the key
/// "STEP". A negative number marks a warm-up step, which is in those statistics but is a plain
/// region in traces.
static inline headroom_token headroom_begin_step(int64_t number) {
  if (!headroom_impl_on()) return 0;
  const uint32_t key = headroom_impl_key("STEP");
  if (number < 0) return headroom_begin_key(key);
  return headroom_impl_begin(key, key, HEADROOM_KIND_STEP, number);
}

/// Ends the region, even if later regions are still open. If the token names no open region of the
/// calling thread, it only counts as unmatched. Token 0 has no effect.
static inline void headroom_end(headroom_token token) {
  if (token != 0) headroom_impl_end(token);
}

/// Marks a moment in the recording.
static inline void headroom_mark(const char* key) {
  if (headroom_impl_on()) headroom_impl_event(headroom_impl_key(key), HEADROOM_KIND_MARK, 0, 0);
}

/// Marks that a parameter's gradient of `bytes` is ready to be sent to other ranks.
static inline void headroom_gradient(const char* parameter, int64_t bytes) {
  if (headroom_impl_on()) {
    headroom_impl_event(headroom_impl_key(parameter), HEADROOM_KIND_GRADIENT, 1, (uint64_t)bytes);
  }
}

/// Declares that this process works for its parent, for example as a worker of a data loader. Its
/// events go to the parent's file, on separate tracks. Call it before the first region. Child
/// processes become helpers, too.
static inline void headroom_helper(void) { headroom_impl_be_helper(); }

/// Records a sampled value. The name should state its unit or meaning ("queue_depth", "loss").
static inline void headroom_counter(const char* key, double value) {
  if (!headroom_impl_on()) return;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  headroom_impl_event(headroom_impl_key(key), HEADROOM_KIND_COUNTER, 1, bits);
}

/// Stops or resumes collecting in this image. Open regions may still end.
static inline void headroom_enable(int on) { headroom_impl_enable(on); }
static inline int headroom_enabled(void) { return headroom_impl_enabled(); }

/// Returns 1 if events go to a recording.
static inline int headroom_recorded(void) { return headroom_impl_recorded(); }

/// Finds the statistics of a key. "ALL" sums all keys, and counts each moment of nested regions
/// once. Returns 1 if a region of the key began at least once. Else returns 0 and sets *out to all
/// 0. Takes a lock, so do not call it on hot paths.
static inline int headroom_stats_of(const char* key, struct headroom_stats* out) {
  return headroom_impl_stats(key, out);
}

static inline struct headroom_drops headroom_drops_now(void) { return headroom_impl_drops(); }

/// Like headroom_begin(), for a string literal, which is looked up only once. A recording also gets
/// the place in the source.
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
