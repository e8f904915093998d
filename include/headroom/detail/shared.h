// The memory that a measured process shares with `headroom record`: names, and one ring of events
// per thread. The process creates it as a memfd, which leaves no file behind, and passes it on
// once. After that, neither side calls the other. Written records survive the process's death by
// any signal.
//
// Layout: headroom_shared, headroom_name[names_capacity], text, and rings of `ring_stride` bytes
// each. A ring has headroom_ring in its first 4096 bytes, then its records. Both sides run on the
// same machine, so numbers have its byte order. Use __atomic builtins for fields marked (atomic).
//
// Increase HEADROOM_SHARED_VERSION when the layout changes. The recorder refuses other versions and
// reports them.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): also compiled as C.

#include <stdint.h>

#define HEADROOM_SHARED_MAGIC UINT64_C(0x6d6f6f7264616568)  // "headroom"
#define HEADROOM_SHARED_VERSION 1u

/// Source of ticks: headroom_shared.clock.
#define HEADROOM_CLOCK_MONOTONIC_RAW 0u  ///< Nanoseconds of CLOCK_MONOTONIC_RAW.
#define HEADROOM_CLOCK_COUNTER 1u        ///< The processor's invariant counter.

/// Kind of a record: the lowest 8 bits of headroom_record.info. The bits above hold the region's
/// serial number, modulo 2^24.
#define HEADROOM_KIND_BEGIN 1u
#define HEADROOM_KIND_END 2u
#define HEADROOM_KIND_STEP 3u  ///< A region; 1 payload record: the step's number.
#define HEADROOM_KIND_MARK 4u
#define HEADROOM_KIND_COUNTER 5u   ///< 1 payload record: a double.
#define HEADROOM_KIND_GRADIENT 6u  ///< 1 payload record: bytes.
#define HEADROOM_KIND_FRAME 7u     ///< A frame of the next stack, outermost first.
/// Ends the frames of a stack. 1 payload record: the number of samples. The thread was in the same
/// call from the first, at `ticks`, to the last.
#define HEADROOM_KIND_STACK 8u
#define HEADROOM_KIND_ACTIVITY 64u  ///< First kind of GPU activity (src/capture/activity.h).

/// Contents of a ring: headroom_ring.kind.
#define HEADROOM_RING_THREAD 0u    ///< Regions of a thread.
#define HEADROOM_RING_STREAM 1u    ///< Regions of a GPU stream, timed by events.
#define HEADROOM_RING_ACTIVITY 2u  ///< GPU work that the driver reports.
#define HEADROOM_RING_STACKS 3u    ///< Samples of a thread's stack.

/// headroom_ring.state (atomic). The process takes a free ring. The recorder frees it once it is
/// closed and empty.
#define HEADROOM_RING_FREE 0u
#define HEADROOM_RING_OPEN 1u
#define HEADROOM_RING_CLOSED 2u

/// An event, or 16 bytes of the previous event's payload.
struct headroom_record {
  uint64_t ticks;
  uint32_t name;
  uint32_t info;
};

struct headroom_name {
  uint32_t offset;  ///< Bytes from the start of the text.
  uint32_t length;  ///< Bytes.
  uint32_t place;   ///< Name of the form "file:line function" where its regions begin; 0: unknown.
};

struct headroom_ring {
  uint32_t state;
  uint32_t kind;
  int32_t tid;      ///< Thread id in the process's own namespace; 0 if not a thread.
  int32_t device;   ///< Device of a stream.
  uint64_t stream;  ///< Handle of a stream, unique in the process.
  char name[64];    ///< Name of the thread, terminated by a zero byte.
  char pad0[40];
  uint64_t head;     ///< Records ever written (atomic). The process writes it.
  uint64_t dropped;  ///< Events without room (atomic).
  char pad1[112];
  uint64_t tail;  ///< Records ever read (atomic). The recorder writes it.
  char pad2[120];
};

struct headroom_shared {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;
  int32_t pid;  ///< In the process's own namespace.
  uint32_t rings;
  uint32_t ring_records;  ///< A power of two.
  uint32_t names_capacity;
  uint64_t names_offset, text_offset, text_capacity, rings_offset, ring_stride, bytes;
  uint32_t names;  ///< Names in use (atomic). A name is complete before a record uses it.
  /// (atomic) 0 if not a helper; else the pid of the parent process that it works for. Its events
  /// belong in the parent's file.
  uint32_t helper_of;
  uint64_t dropped_threads, dropped_depth, dropped_names, unmatched;  ///< (atomic)
};

#define HEADROOM_RING_HEADER_BYTES 4096u

#if defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

static inline struct headroom_ring* headroom_ring_at(struct headroom_shared* shared, uint32_t i) {
  return (struct headroom_ring*)((char*)shared + shared->rings_offset + i * shared->ring_stride);
}
static inline struct headroom_record* headroom_records_of(struct headroom_ring* ring) {
  return (struct headroom_record*)((char*)ring + HEADROOM_RING_HEADER_BYTES);
}
static inline struct headroom_name* headroom_names_of(struct headroom_shared* shared) {
  return (struct headroom_name*)((char*)shared + shared->names_offset);
}
static inline char* headroom_text_of(struct headroom_shared* shared) {
  return (char*)shared + shared->text_offset;
}

#if defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier)
