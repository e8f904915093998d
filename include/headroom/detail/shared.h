// The memory that a measured process shares with `headroom record`: names, and a ring of events a
// thread. The process makes it (a memfd, so it leaves no file behind), and passes it on once; from
// then on neither side calls the other. What the process wrote survives its death, by any signal.
//
// Layout: headroom_shared, headroom_name[names_capacity], text, and rings of `ring_stride` bytes
// each: headroom_ring in the first 4096, then its records. Both sides are of the same machine, so
// numbers have its byte order. Fields marked (atomic) are read and written with __atomic builtins.
//
// A change of the layout changes HEADROOM_SHARED_VERSION: the recorder refuses what it does not
// know, and says so.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): C, too.

#include <stdint.h>

#define HEADROOM_SHARED_MAGIC UINT64_C(0x6d6f6f7264616568)  // "headroom"
#define HEADROOM_SHARED_VERSION 1u

/// Where ticks come from. headroom_shared.clock.
#define HEADROOM_CLOCK_MONOTONIC_RAW 0u  ///< Nanoseconds of CLOCK_MONOTONIC_RAW.
#define HEADROOM_CLOCK_COUNTER 1u        ///< The processor's invariant counter.

/// What a record says. headroom_record.info holds it in the lowest 8 bits, and above them the
/// serial number of the region, modulo 2^24.
#define HEADROOM_KIND_BEGIN 1u
#define HEADROOM_KIND_END 2u
#define HEADROOM_KIND_STEP 3u  ///< A region; 1 record of payload: its number.
#define HEADROOM_KIND_MARK 4u
#define HEADROOM_KIND_COUNTER 5u    ///< 1 record of payload: a double.
#define HEADROOM_KIND_GRADIENT 6u   ///< 1 record of payload: bytes.
#define HEADROOM_KIND_ACTIVITY 64u  ///< From here on: what a GPU did (src/capture/activity.h).

/// What a ring holds. headroom_ring.kind.
#define HEADROOM_RING_THREAD 0u    ///< Regions of a thread.
#define HEADROOM_RING_STREAM 1u    ///< Regions of a GPU stream, by its own events.
#define HEADROOM_RING_ACTIVITY 2u  ///< Work of GPUs, as the driver tells it.

/// headroom_ring.state (atomic). The process takes a ring that is free; the recorder frees it when
/// it is closed and empty.
#define HEADROOM_RING_FREE 0u
#define HEADROOM_RING_OPEN 1u
#define HEADROOM_RING_CLOSED 2u

/// An event, or 16 bytes of the payload of the one before.
struct headroom_record {
  uint64_t ticks;
  uint32_t name;
  uint32_t info;
};

struct headroom_name {
  uint32_t offset;  ///< In the text.
  uint32_t length;  ///< In bytes.
  uint32_t place;   ///< The name "file:line function" of where its regions begin; 0: not known.
};

struct headroom_ring {
  uint32_t state;
  uint32_t kind;
  int32_t tid;      ///< Of the thread as its own namespace numbers it; 0: none.
  int32_t device;   ///< Of a stream.
  uint64_t stream;  ///< Of a stream: its handle, which is unique in the process.
  char name[64];    ///< Of the thread; ends with a zero.
  char pad0[40];
  uint64_t head;     ///< Records ever written (atomic): the process's.
  uint64_t dropped;  ///< Events that found no room (atomic).
  char pad1[112];
  uint64_t tail;  ///< Records ever read (atomic): the recorder's.
  char pad2[120];
};

struct headroom_shared {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;
  int32_t pid;  ///< As the process sees it.
  uint32_t rings;
  uint32_t ring_records;  ///< A power of two.
  uint32_t names_capacity;
  uint64_t names_offset, text_offset, text_capacity, rings_offset, ring_stride, bytes;
  uint32_t names;  ///< Used (atomic). A name is complete before a record uses it.
  /// (atomic) Not 0: it works for the process that started it, which has this number, and its
  /// events belong into the same file.
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
