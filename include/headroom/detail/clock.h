// The clock of regions: the processor's counter if it is invariant, else CLOCK_MONOTONIC_RAW.
//
// Reading the counter takes 9 ns, and clock_gettime takes 22 ns. No fence orders the counter with
// the instructions around it, because a fence costs time. A region may be about 10 ns off at each
// end.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): also compiled as C.

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "headroom/detail/shared.h"

#if !defined(__cplusplus) && defined(__STRICT_ANSI__)
extern int clock_gettime(int, struct timespec*);  // -std=c11 hides it.
#endif

#if defined(__cplusplus)
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define HEADROOM_IMPL_CLOCK_MONOTONIC 1
#define HEADROOM_IMPL_CLOCK_MONOTONIC_RAW 4

static inline uint64_t headroom_impl_gettime(int clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// REQUIRES: headroom_impl_has_counter().
static inline uint64_t headroom_impl_counter(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

/// Moves a descriptor above 2. If the program has closed a standard descriptor, `descriptor` may
/// have its number, and would receive the program's output. Returns the new number, or -1.
static inline int headroom_impl_above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return descriptor;
  const int above = fcntl(descriptor, 1030, 3);  // F_DUPFD_CLOEXEC, which plain C does not name.
  close(descriptor);
  return above;
}

/// Returns 1 if the counter has one rate in all power states and is synchronized across cores. The
/// processor must report this, and the kernel's own test must not have disproved it.
static inline int headroom_impl_has_counter(void) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || (d & (1u << 8)) == 0) return 0;
  char source[32] = "";
  const int file = headroom_impl_above_standard(
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY));
  if (file >= 0) {
    if (read(file, source, sizeof source - 1) <= 0) source[0] = 0;
    close(file);
  }
  // The kernel falls back to these clocks once it has marked the counter unstable.
  return strncmp(source, "hpet", 4) != 0 && strncmp(source, "acpi_pm", 7) != 0 &&
         strncmp(source, "jiffies", 7) != 0;
#elif defined(__aarch64__)
  return 1;  // The architecture guarantees a constant rate, synchronized across cores.
#else
  return 0;
#endif
}

/// One moment on both clocks. The best of 16 attempts to read one clock between two readings of the
/// other: the one with the smallest `width`.
struct headroom_impl_anchor {
  uint64_t ticks, ns;  ///< CLOCK_MONOTONIC in ns.
  uint64_t width;      ///< Ticks between the two readings: the maximum error of the pair.
};

#if defined(HEADROOM_TEST_CLOCK)
/// For tests: names a function, uint64_t(void), which replaces every clock. Returns ns.
uint64_t HEADROOM_TEST_CLOCK(void);

static inline uint32_t headroom_impl_clock_here(void) { return HEADROOM_CLOCK_MONOTONIC_RAW; }
static inline uint64_t headroom_impl_ticks(uint32_t clock) {
  return (void)clock, HEADROOM_TEST_CLOCK();
}
#else
static inline uint32_t headroom_impl_clock_here(void) {
  return headroom_impl_has_counter() ? HEADROOM_CLOCK_COUNTER : HEADROOM_CLOCK_MONOTONIC_RAW;
}

static inline uint64_t headroom_impl_ticks(uint32_t clock) {
  return __builtin_expect(clock == HEADROOM_CLOCK_COUNTER, 1)
             ? headroom_impl_counter()
             : headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC_RAW);
}
#endif

static inline struct headroom_impl_anchor headroom_impl_anchor_now(uint32_t clock) {
  struct headroom_impl_anchor best = {0, 0, UINT64_MAX};
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = headroom_impl_ticks(clock);
    const uint64_t ns = headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC);
    const uint64_t width = headroom_impl_ticks(clock) - before;
    if (width < best.width) {
      best.ticks = before + width / 2;
      best.ns = ns;
      best.width = width;
    }
  }
  return best;
}

#if defined(__cplusplus)
}  // extern "C"
#pragma GCC diagnostic pop
#endif

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier)
