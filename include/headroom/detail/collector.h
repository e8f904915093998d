// Implementation of headroom/timer.h. Do not include it directly.
//
// Each image (program or shared library) has one collector. Its state is a weak hidden definition,
// so all files of an image that include the header share it. Two images with headers of different
// versions stay separate.
#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier,misc-definitions-in-headers):
// also compiled as C.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "headroom/detail/clock.h"
#include "headroom/detail/shared.h"

#if !defined(__cplusplus) && defined(__STRICT_ANSI__)
extern long syscall(long, ...);  // -std=c11 hides them.
extern int ftruncate(int, off_t);
#endif

// Programs include this code and set their own warnings. Its C casts are intended.
#if defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#if defined(__cplusplus)
extern "C" {
#endif

// -std=c11 hides Dl_info of <dlfcn.h>. Before glibc 2.34 both functions are in a library that a
// program need not link. Such a program cannot unload an image either.
extern int headroom_impl_dladdr(const void* address, void* info) __asm__("dladdr")
    __attribute__((weak));
extern void* headroom_impl_dlopen(const char* file, int how) __asm__("dlopen")
    __attribute__((weak));

#define HEADROOM_IMPL_SHARED __attribute__((weak, visibility("hidden")))
#define HEADROOM_IMPL_SLOW __attribute__((noinline, cold, unused))
#define HEADROOM_IMPL_LIKELY(x) __builtin_expect(!!(x), 1)
#define HEADROOM_IMPL_UNLIKELY(x) __builtin_expect(!!(x), 0)
// Only the calling thread writes the field. Release: other threads read it without a lock.
#define HEADROOM_IMPL_PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)
#define HEADROOM_IMPL_GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

enum {
  HEADROOM_IMPL_RINGS = 128,
  HEADROOM_IMPL_RING_RECORDS = 1 << 19,  // 8 MiB: 131 ms at 2 million regions per second.
  HEADROOM_IMPL_NAMES = 1 << 16,
  HEADROOM_IMPL_HASH = 1 << 17,
  HEADROOM_IMPL_TEXT = 16 << 20,
  HEADROOM_IMPL_KEYS = 1 << 14,  // Only names below this number can have statistics.
  HEADROOM_IMPL_DEPTH = 256,
  HEADROOM_IMPL_OFF_NOW = 1,       // headroom_enable(0)
  HEADROOM_IMPL_OFF_FOR_GOOD = 2,  // By the environment, or out of memory.
  HEADROOM_IMPL_BUCKETS = 656,     // 16 per power of two, up to 2^44 ticks.
};

/// Statistics of a key on one thread, in ticks. The owner writes, any thread reads. A read is valid
/// if `version` was even and did not change during the read.
struct headroom_impl_stats_block {
  uint64_t version;
  uint64_t count, total, self, min, max;
  uint64_t shift;      ///< The first length. Sums of differences from it lose no digits.
  uint64_t sum, sum2;  ///< Bits of doubles: the sums of (length - shift) and of its square.
  uint64_t open;       ///< Open regions of the key. Only the owner accesses it.
  uint64_t buckets[HEADROOM_IMPL_BUCKETS];
};

struct headroom_impl_open {
  uint64_t start, self;
  uint64_t covered;  ///< Ticks since `start` that ended regions of the same key cover.
  uint32_t key, serial;
  struct headroom_impl_stats_block* stats;  ///< Null: the key is beyond those that have statistics.
  uint8_t closed;                           ///< Ended while inner regions were still open.
  uint8_t recorded;
};

/// The writing end of a ring. Only one thread at a time may use it.
struct headroom_impl_writer {
  uint64_t head, tail;  ///< Positions in the ring; `tail` as last read.
  struct headroom_record* records;
  struct headroom_ring* ring;  ///< Null: not recorded.
  uint32_t pending;            ///< Open recorded regions. Each has a reserved record for its end.
};

struct headroom_impl_thread {
  struct headroom_impl_writer out;
  uint32_t depth, serial;
  uint32_t clock;
  uint64_t last;    ///< Time up to these ticks is attributed.
  uint64_t number;  ///< Unique in the process and its children; 31 bits.
  struct headroom_impl_thread *next, *previous;
  struct headroom_impl_stats_block* stats[HEADROOM_IMPL_KEYS];
  struct headroom_impl_open open[HEADROOM_IMPL_DEPTH];
};

struct headroom_impl_state {
  int off;  ///< Atomic HEADROOM_IMPL_OFF_... flags. If not 0, nothing is collected.
  int ready;
  int pinned;
  /// Guards all fields below. `hash` and the names are read without this lock.
  pthread_mutex_t lock;
  uint32_t clock;
  uint32_t names;  ///< As in `shared`. After a fork `shared` is still the parent's.
  uint32_t text;
  int recorded;  ///< The recorder has the shared memory.
  int forked;    ///< `shared` is the parent's: use only its names.
  int helper;    ///< As in `shared`. Forked children are helpers, too.
  int socket;    ///< Valid if `recorded`.
  ino_t socket_inode;
  uint64_t threads_begun;
  uint64_t dropped_statistics;
  struct headroom_impl_anchor anchor;
  struct headroom_shared* shared;
  struct headroom_impl_thread* threads;
  struct headroom_impl_stats_block* retired[HEADROOM_IMPL_KEYS];  ///< Statistics of threads that
                                                                  ///< ended.
  uint64_t retired_ring_drops;
  pthread_key_t exit_key;
  int exit_key_made;
  uint32_t hash[HEADROOM_IMPL_HASH];  ///< Name numbers by hash; 0: free.
};

// All members are zero, including the mutex. The 512 KiB therefore take no space in files, and use
// memory only on access.
HEADROOM_IMPL_SHARED struct headroom_impl_state headroom_impl_state_v1
#if defined(__cplusplus)
    = {};
#else
    = {0};
#endif
HEADROOM_IMPL_SHARED __thread struct headroom_impl_thread* headroom_impl_thread_v1 = NULL;

static inline int headroom_impl_on(void) {
  return !__atomic_load_n(&headroom_impl_state_v1.off, __ATOMIC_RELAXED);
}

// --- shared memory -----------------------------------------------------------------------------

/// Passes the shared memory to the recorder. Returns the socket, or -1 without a recorder. The
/// socket stays open so that the recorder sees when the process ends.
HEADROOM_IMPL_SLOW static int headroom_impl_connect(int memory) {
  const char* path = getenv("HEADROOM_SOCKET");
  struct sockaddr_un address;
  if (memory < 0 || path == NULL || path[0] == 0 || strlen(path) >= sizeof address.sun_path) {
    return -1;
  }
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  const int s = headroom_impl_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (s < 0) return -1;
  const struct timeval patience = {1, 0};  // A stopped recorder must not stop the program.
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);

  uint64_t hello = HEADROOM_SHARED_MAGIC;
  struct iovec part = {&hello, sizeof hello};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(rights), &memory, sizeof memory);
  int failed;
  do {
    failed = connect(s, (const struct sockaddr*)&address, sizeof address);
  } while (failed != 0 && errno == EINTR);
  while (!failed && sendmsg(s, &message, MSG_NOSIGNAL) != (ssize_t)sizeof hello) {
    failed = errno != EINTR;
  }
  if (failed) {
    close(s);
    return -1;
  }
  return s;
}

/// Returns a descriptor of `bytes` of memory that can be passed on, or -1.
HEADROOM_IMPL_SLOW static int headroom_impl_make_memory(uint64_t bytes) {
#ifdef SYS_memfd_create
  struct rlimit limit;  // Writing a file beyond the limit would end the program (SIGXFSZ).
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return -1;
  // 3: MFD_CLOEXEC | MFD_ALLOW_SEALING. 1033: F_ADD_SEALS, 6: F_SEAL_SHRINK | F_SEAL_GROW. The
  // seals protect the recorder, which must not map memory that can shrink.
  const int memory = headroom_impl_above_standard((int)syscall(SYS_memfd_create, "headroom", 3u));
  if (memory < 0 || (ftruncate(memory, (off_t)bytes) == 0 && fcntl(memory, 1033, 6) == 0)) {
    return memory;
  }
  close(memory);
#else
  (void)bytes;
#endif
  return -1;
}

/// Makes the memory, and shares it if there is a recorder. Returns null if there is no memory.
/// REQUIRES: the lock is held.
HEADROOM_IMPL_SLOW static struct headroom_shared* headroom_impl_make_shared(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  const char* socket_path = getenv("HEADROOM_SOCKET");
  const int wanted = socket_path != NULL && socket_path[0] != 0;
  const uint64_t names_offset = 4096;
  const uint64_t text_offset = names_offset + sizeof(struct headroom_name) * HEADROOM_IMPL_NAMES;
  const uint64_t rings_offset = text_offset + HEADROOM_IMPL_TEXT;
  const uint64_t ring_stride =
      HEADROOM_RING_HEADER_BYTES +
      sizeof(struct headroom_record) * (uint64_t)HEADROOM_IMPL_RING_RECORDS;
  // Untouched pages use no memory. Only a recorded process touches rings.
  uint64_t bytes = rings_offset + HEADROOM_IMPL_RINGS * ring_stride;
  int memory = wanted ? headroom_impl_make_memory(bytes) : -1;
  void* address = MAP_FAILED;
  if (memory >= 0) {
    address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (address == MAP_FAILED) {
      close(memory);
      memory = -1;
    }
  }
  if (memory < 0) {
    bytes = rings_offset;
    // 0x20: MAP_ANONYMOUS, 0x4000: MAP_NORESERVE, which -std=c11 hides.
    address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | 0x20 | 0x4000, -1, 0);
    if (address == MAP_FAILED) return NULL;
  }
  struct headroom_shared* shared = (struct headroom_shared*)address;
  shared->version = HEADROOM_SHARED_VERSION;
  shared->clock = state->clock;
  shared->pid = (int32_t)getpid();
  shared->rings = memory >= 0 ? HEADROOM_IMPL_RINGS : 0;
  shared->ring_records = HEADROOM_IMPL_RING_RECORDS;
  shared->names_capacity = HEADROOM_IMPL_NAMES;
  shared->names_offset = names_offset;
  shared->text_offset = text_offset;
  shared->text_capacity = HEADROOM_IMPL_TEXT;
  shared->rings_offset = rings_offset;
  shared->ring_stride = ring_stride;
  shared->bytes = bytes;
  if (state->forked) {  // Static variables hold name numbers, so the numbers must not change.
    memcpy(headroom_names_of(shared), headroom_names_of(state->shared),
           state->names * sizeof(struct headroom_name));
    memcpy(headroom_text_of(shared), headroom_text_of(state->shared), state->text);
    munmap(state->shared, state->shared->bytes);
  }
  HEADROOM_IMPL_PUT(shared->helper_of, state->helper ? (uint32_t)getppid() : 0u);
  HEADROOM_IMPL_PUT(shared->names, state->names);
  HEADROOM_IMPL_PUT(shared->magic, HEADROOM_SHARED_MAGIC);
  if (memory >= 0) {
    state->socket = headroom_impl_connect(memory);
    struct stat identity;
    if (state->socket >= 0 && fstat(state->socket, &identity) == 0) {
      state->socket_inode = identity.st_ino;
      HEADROOM_IMPL_PUT(state->recorded, 1);
    }
    close(memory);  // The mapping keeps the memory.
  }
  return shared;
}

// --- names ---------------------------------------------------------------------------------------

static inline uint32_t headroom_impl_hash(const char* text, size_t* length) {
  uint32_t hash = 2166136261u;  // FNV-1a
  const char* at = text;
  for (; *at != 0; ++at) hash = (hash ^ (unsigned char)*at) * 16777619u;
  *length = (size_t)(at - text);
  return hash ^ (hash >> 15);
}

static inline int headroom_impl_same(const struct headroom_impl_state* state, uint32_t id,
                                     const char* text, size_t length) {
  const struct headroom_name* name = headroom_names_of(state->shared) + id;
  return name->length == length &&
         memcmp(headroom_text_of(state->shared) + name->offset, text, length) == 0;
}

HEADROOM_IMPL_SLOW static int headroom_impl_lock_started(void);

HEADROOM_IMPL_SLOW static uint32_t headroom_impl_add_key(const char* text, size_t length,
                                                         uint32_t hash) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  uint32_t id = 0;
  if (headroom_impl_lock_started() && strcmp(text, "ALL") != 0) {
    uint32_t slot = hash % HEADROOM_IMPL_HASH;
    while ((id = state->hash[slot]) != 0 && !headroom_impl_same(state, id, text, length)) {
      slot = (slot + 1) % HEADROOM_IMPL_HASH;
    }
    if (id == 0) {
      if (state->names < HEADROOM_IMPL_NAMES && state->text + length <= HEADROOM_IMPL_TEXT) {
        id = state->names;
        struct headroom_name* name = headroom_names_of(state->shared) + id;
        name->offset = state->text;
        name->length = (uint32_t)length;
        name->place = 0;
        memcpy(headroom_text_of(state->shared) + state->text, text, length);
        state->text += (uint32_t)length;
        state->names = id + 1;
        HEADROOM_IMPL_PUT(state->shared->names, id + 1);
        HEADROOM_IMPL_PUT(state->hash[slot], id);
      } else {
        id = 1;  // "(too many names)"
        __atomic_fetch_add(&state->shared->dropped_names, 1, __ATOMIC_RELAXED);
      }
    }
  }
  pthread_mutex_unlock(&state->lock);
  return id;
}

/// Returns the number of a known key, or 0.
static inline uint32_t headroom_impl_find(const char* text, size_t length, uint32_t hash) {
  const struct headroom_impl_state* state = &headroom_impl_state_v1;
  uint32_t id = 0;
  if (HEADROOM_IMPL_UNLIKELY(!HEADROOM_IMPL_GET(state->ready))) return 0;
  for (uint32_t slot = hash % HEADROOM_IMPL_HASH; (id = HEADROOM_IMPL_GET(state->hash[slot])) != 0;
       slot = (slot + 1) % HEADROOM_IMPL_HASH) {
    if (headroom_impl_same(state, id, text, length)) return id;
  }
  return 0;
}

/// Returns the number of a key, or 0 if nothing is collected or the key is not allowed.
static inline uint32_t headroom_impl_key(const char* text) {
  size_t length;
  if (HEADROOM_IMPL_UNLIKELY(text == NULL)) return 0;
  const uint32_t hash = headroom_impl_hash(text, &length);
  const uint32_t id = headroom_impl_find(text, length, hash);
  return HEADROOM_IMPL_LIKELY(id != 0) ? id : headroom_impl_add_key(text, length, hash);
}

/// Returns a number for a place in the source that begins regions of a key. The number has the
/// key's text, and a separate name for the place. Returns the key if there is no room.
HEADROOM_IMPL_SLOW static uint32_t headroom_impl_add_site(uint32_t key, const char* function,
                                                          const char* file, int line) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  char text[512];
  uint32_t site = key;
  const int length = snprintf(text, sizeof text, "%s:%d %s", file, line, function);
  if (key < 2 || length <= 0) return key;
  const uint32_t place = headroom_impl_key(text);
  if (headroom_impl_lock_started() && place > 1 && state->names < HEADROOM_IMPL_NAMES) {
    site = state->names;
    headroom_names_of(state->shared)[site] = headroom_names_of(state->shared)[key];
    headroom_names_of(state->shared)[site].place = place;
    state->names = site + 1;
    HEADROOM_IMPL_PUT(state->shared->names, site + 1);
  }
  pthread_mutex_unlock(&state->lock);
  return site;
}

// --- rings ---------------------------------------------------------------------------------------

/// Takes a free ring of the shared memory and gives it to `out`. Without a recorder or a free ring,
/// `out` writes nothing.
/// @param tid     the thread whose regions it holds; 0 for GPUs
/// @param device  the GPU's number; 0 for a thread
/// @param stream  the stream's handle; 0 for a thread
/// @param name    cut to 63 bytes; null: the name of the calling thread
/// REQUIRES: the lock is held, and the collector has started.
HEADROOM_IMPL_SLOW static void headroom_impl_open_ring(struct headroom_impl_writer* out,
                                                       uint32_t kind, int32_t tid, int32_t device,
                                                       uint64_t stream, const char* name) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  memset(out, 0, sizeof *out);
  if (!state->recorded) return;
  for (uint32_t i = 0; i < state->shared->rings; ++i) {
    struct headroom_ring* ring = headroom_ring_at(state->shared, i);
    if (HEADROOM_IMPL_GET(ring->state) != HEADROOM_RING_FREE) continue;
    ring->kind = kind;
    ring->dropped = 0;
    ring->tid = tid;
    ring->device = device;
    ring->stream = stream;
    memset(ring->name, 0, sizeof ring->name);
    if (name == NULL) {
      prctl(PR_GET_NAME, ring->name);
    } else {
      for (size_t at = 0; at < sizeof ring->name - 1 && name[at] != 0; ++at) {
        ring->name[at] = name[at];
      }
    }
    out->head = out->tail = HEADROOM_IMPL_GET(ring->head);
    out->records = headroom_records_of(ring);
    out->ring = ring;
    HEADROOM_IMPL_PUT(ring->state, HEADROOM_RING_OPEN);
    return;
  }
  __atomic_fetch_add(&state->shared->dropped_threads, 1, __ATOMIC_RELAXED);
}

/// REQUIRES: the lock is held.
HEADROOM_IMPL_SLOW static void headroom_impl_close_ring(struct headroom_impl_writer* out) {
  if (out->ring == NULL) return;
  headroom_impl_state_v1.retired_ring_drops += HEADROOM_IMPL_GET(out->ring->dropped);
  HEADROOM_IMPL_PUT(out->ring->state, HEADROOM_RING_CLOSED);
  out->ring = NULL;
}

/// Returns 1 if there is room for `records` in addition to the ends of open regions. Otherwise
/// counts the event as dropped and returns 0. Reads the recorder's position only if the ring seems
/// full.
static inline int headroom_impl_room(struct headroom_impl_writer* out, uint32_t records) {
  const uint64_t needed = out->head + records + out->pending;
  if (HEADROOM_IMPL_LIKELY(needed - out->tail <= HEADROOM_IMPL_RING_RECORDS)) return 1;
  out->tail = HEADROOM_IMPL_GET(out->ring->tail);
  if (needed - out->tail <= HEADROOM_IMPL_RING_RECORDS) return 1;
  HEADROOM_IMPL_PUT(out->ring->dropped, out->ring->dropped + 1);
  return 0;
}

/// REQUIRES: there is room.
static inline void headroom_impl_write(struct headroom_impl_writer* out, uint64_t ticks,
                                       uint32_t name, uint32_t info) {
  struct headroom_record* record = out->records + (out->head & (HEADROOM_IMPL_RING_RECORDS - 1));
  record->ticks = ticks;
  record->name = name;
  record->info = info;
  ++out->head;
}

/// Makes written records visible to the recorder, a record together with its payload.
static inline void headroom_impl_publish(struct headroom_impl_writer* out) {
  HEADROOM_IMPL_PUT(out->ring->head, out->head);
}

// --- threads -------------------------------------------------------------------------------------

static inline double headroom_impl_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t headroom_impl_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Adds `from`, which must no longer change, to `into`. Moves sums to the shift of `into`.
HEADROOM_IMPL_SLOW static void headroom_impl_merge(struct headroom_impl_stats_block* into,
                                                   const struct headroom_impl_stats_block* from) {
  if (from->count == 0) return;
  if (into->count == 0) {
    into->shift = from->shift;
    into->min = from->min;
  }
  const double n = (double)from->count, sum = headroom_impl_double(from->sum);
  const double moved = (double)from->shift - (double)into->shift;
  into->sum = headroom_impl_bits(headroom_impl_double(into->sum) + sum + n * moved);
  into->sum2 =
      headroom_impl_bits(headroom_impl_double(into->sum2) + headroom_impl_double(from->sum2) +
                         2 * moved * sum + n * moved * moved);
  into->count += from->count;
  into->total += from->total;
  into->self += from->self;
  if (from->min < into->min) into->min = from->min;
  if (from->max > into->max) into->max = from->max;
  for (int i = 0; i < HEADROOM_IMPL_BUCKETS; ++i) into->buckets[i] += from->buckets[i];
}

/// Returns a consistent copy, even if another thread is writing `live`.
HEADROOM_IMPL_SLOW static struct headroom_impl_stats_block headroom_impl_copy(
    const struct headroom_impl_stats_block* live) {
  struct headroom_impl_stats_block copy;
  uint64_t before;
  do {
    before = HEADROOM_IMPL_GET(live->version);
    copy.version = 0;
    copy.count = HEADROOM_IMPL_GET(live->count);
    copy.total = HEADROOM_IMPL_GET(live->total);
    copy.self = HEADROOM_IMPL_GET(live->self);
    copy.min = HEADROOM_IMPL_GET(live->min);
    copy.max = HEADROOM_IMPL_GET(live->max);
    copy.shift = HEADROOM_IMPL_GET(live->shift);
    copy.sum = HEADROOM_IMPL_GET(live->sum);
    copy.sum2 = HEADROOM_IMPL_GET(live->sum2);
    copy.open = 0;
    for (int i = 0; i < HEADROOM_IMPL_BUCKETS; ++i) {
      copy.buckets[i] = HEADROOM_IMPL_GET(live->buckets[i]);
    }
  } while ((before & 1) != 0 || HEADROOM_IMPL_GET(live->version) != before);
  return copy;
}

/// Returns the first name number above those that may have statistics. REQUIRES: the lock is held.
HEADROOM_IMPL_SLOW static int headroom_impl_keys(void) {
  const uint32_t names = headroom_impl_state_v1.names;
  return names < HEADROOM_IMPL_KEYS ? (int)names : HEADROOM_IMPL_KEYS;
}

HEADROOM_IMPL_SLOW static void headroom_impl_thread_ends(void* ending) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  struct headroom_impl_thread* thread = (struct headroom_impl_thread*)ending;
  pthread_mutex_lock(&state->lock);
  const int keys = headroom_impl_keys();
  for (int key = 0; key < keys; ++key) {
    struct headroom_impl_stats_block* stats = thread->stats[key];
    if (stats == NULL) continue;
    if (state->retired[key] == NULL) {
      state->retired[key] = stats;
    } else {
      headroom_impl_merge(state->retired[key], stats);
      free(stats);
    }
  }
  if (thread->previous != NULL) thread->previous->next = thread->next;
  if (thread->next != NULL) thread->next->previous = thread->previous;
  if (state->threads == thread) state->threads = thread->next;
  headroom_impl_close_ring(&thread->out);
  pthread_mutex_unlock(&state->lock);
  // A destructor that runs later may time something. It then attaches the thread again.
  headroom_impl_thread_v1 = NULL;
  free(thread);
}

HEADROOM_IMPL_SLOW static void headroom_impl_before_fork(void) {
  pthread_mutex_lock(&headroom_impl_state_v1.lock);
}
HEADROOM_IMPL_SLOW static void headroom_impl_after_fork(void) {
  pthread_mutex_unlock(&headroom_impl_state_v1.lock);
}
/// The child has one thread and starts without data: all collected data belongs to the parent.
HEADROOM_IMPL_SLOW static void headroom_impl_in_child(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  const int keys = headroom_impl_keys();
  struct stat now;
  // The program may have closed our socket and reused its number. Then it is not ours to close.
  if (state->recorded && fstat(state->socket, &now) == 0 && now.st_ino == state->socket_inode) {
    close(state->socket);
  }
  state->forked = state->shared != NULL;
  HEADROOM_IMPL_PUT(state->ready, 0);
  state->recorded = 0;
  while (state->threads != NULL) {
    struct headroom_impl_thread* thread = state->threads;
    state->threads = thread->next;
    for (int key = 0; key < keys; ++key) free(thread->stats[key]);
    free(thread);
  }
  for (int key = 0; key < keys; ++key) {
    free(state->retired[key]);
    state->retired[key] = NULL;
  }
  state->retired_ring_drops = 0;
  state->dropped_statistics = 0;
  headroom_impl_thread_v1 = NULL;
  pthread_setspecific(state->exit_key, NULL);
  pthread_mutex_unlock(&state->lock);
}

/// Starts the collector once. Returns 1 if it has started. REQUIRES: the lock is held.
HEADROOM_IMPL_SLOW static int headroom_impl_start(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  if (state->ready) return 1;
  if (__atomic_load_n(&state->off, __ATOMIC_RELAXED) & HEADROOM_IMPL_OFF_FOR_GOOD) return 0;
  const char* wish = getenv("HEADROOM");
  if (wish != NULL && wish[0] == '0' && wish[1] == 0) {
    __atomic_fetch_or(&state->off, HEADROOM_IMPL_OFF_FOR_GOOD, __ATOMIC_RELAXED);
    return 0;
  }
  if (!state->forked) {
    state->clock = headroom_impl_clock_here();
    state->names = 2;  // 0: no name; 1: names that did not fit.
    state->text = 16;
  }
  state->anchor = headroom_impl_anchor_now(state->clock);
  if (!state->exit_key_made &&
      pthread_key_create(&state->exit_key, headroom_impl_thread_ends) != 0) {
    __atomic_fetch_or(&state->off, HEADROOM_IMPL_OFF_FOR_GOOD, __ATOMIC_RELAXED);
    return 0;
  }
  state->exit_key_made = 1;
  struct headroom_shared* shared = headroom_impl_make_shared();
  if (shared == NULL) {
    __atomic_fetch_or(&state->off, HEADROOM_IMPL_OFF_FOR_GOOD, __ATOMIC_RELAXED);
    return 0;
  }
  if (!state->forked) {
    memcpy(headroom_text_of(shared), "(too many names)", 16);
    headroom_names_of(shared)[1].length = 16;
    size_t length;
    state->hash[headroom_impl_hash("(too many names)", &length) % HEADROOM_IMPL_HASH] = 1;
    pthread_atfork(headroom_impl_before_fork, headroom_impl_after_fork, headroom_impl_in_child);
  }
  state->shared = shared;
  state->forked = 0;
  HEADROOM_IMPL_PUT(state->ready, 1);
  return 1;
}

/// Keeps this image loaded until the program ends, because ending threads and fork() call into it.
/// A C++ thread_local variable with a destructor has the same effect. Must not hold the collector's
/// lock: the loader has its own lock, under which constructors may time something.
HEADROOM_IMPL_SLOW static void headroom_impl_pin(void) {
  struct {
    const char* file;
    void *base, *symbol, *address;
  } image;
  // 0x1005: RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE.
  if (headroom_impl_dladdr != NULL && headroom_impl_dlopen != NULL &&
      headroom_impl_dladdr(&headroom_impl_state_v1, &image) != 0) {
    headroom_impl_dlopen(image.file, 0x1005);
  }
}

/// Takes the lock. Returns 1 if the collector has started.
HEADROOM_IMPL_SLOW static int headroom_impl_lock_started(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  if (!HEADROOM_IMPL_GET(state->pinned)) {
    headroom_impl_pin();
    HEADROOM_IMPL_PUT(state->pinned, 1);
  }
  pthread_mutex_lock(&state->lock);
  return headroom_impl_start();
}

HEADROOM_IMPL_SLOW static struct headroom_impl_thread* headroom_impl_attach(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  struct headroom_impl_thread* thread = NULL;
  if (headroom_impl_lock_started() &&
      (thread = (struct headroom_impl_thread*)calloc(1, sizeof *thread)) != NULL) {
    thread->clock = state->clock;
    thread->number = ++state->threads_begun & 0x7fffffffu;
    headroom_impl_open_ring(&thread->out, HEADROOM_RING_THREAD, (int32_t)syscall(SYS_gettid), 0, 0,
                            NULL);
    thread->next = state->threads;
    if (thread->next != NULL) thread->next->previous = thread;
    state->threads = thread;
    headroom_impl_thread_v1 = thread;
    pthread_setspecific(state->exit_key, thread);
  }
  pthread_mutex_unlock(&state->lock);
  return thread;
}

HEADROOM_IMPL_SLOW static struct headroom_impl_stats_block* headroom_impl_add_stats(
    struct headroom_impl_thread* thread, uint32_t key) {
  if (key >= HEADROOM_IMPL_KEYS) {
    __atomic_fetch_add(&headroom_impl_state_v1.dropped_statistics, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  struct headroom_impl_stats_block* stats =
      (struct headroom_impl_stats_block*)calloc(1, sizeof *stats);
  if (stats != NULL) stats->min = UINT64_MAX;
  HEADROOM_IMPL_PUT(thread->stats[key], stats);
  return stats;
}

// --- the hot path --------------------------------------------------------------------------------

/// Returns the time; never decreases within a thread.
static inline uint64_t headroom_impl_now(const struct headroom_impl_thread* thread) {
  const uint64_t now = headroom_impl_ticks(thread->clock);
  // The counter is read without a fence, and cores differ by a few ticks.
  return HEADROOM_IMPL_LIKELY(now >= thread->last) ? now : thread->last;
}

/// @param site  the key, or a place from headroom_impl_add_site()
static inline headroom_token headroom_impl_begin(uint32_t key, uint32_t site, uint32_t kind,
                                                 int64_t number) {
  if (HEADROOM_IMPL_UNLIKELY(!headroom_impl_on() || key == 0)) return 0;
  struct headroom_impl_thread* thread = headroom_impl_thread_v1;
  if (HEADROOM_IMPL_UNLIKELY(thread == NULL) && (thread = headroom_impl_attach()) == NULL) return 0;
  if (HEADROOM_IMPL_UNLIKELY(thread->depth == HEADROOM_IMPL_DEPTH)) {
    __atomic_fetch_add(&headroom_impl_state_v1.shared->dropped_depth, 1, __ATOMIC_RELAXED);
    return 0;
  }
  struct headroom_impl_stats_block* stats = NULL;
  if (HEADROOM_IMPL_LIKELY(key < HEADROOM_IMPL_KEYS)) stats = thread->stats[key];
  if (HEADROOM_IMPL_UNLIKELY(stats == NULL)) stats = headroom_impl_add_stats(thread, key);
  struct headroom_impl_open* open = thread->open + thread->depth;
  const uint32_t serial = ++thread->serial & 0xffffffu;
  open->key = key;
  open->serial = serial;
  open->stats = stats;
  open->self = 0;
  open->covered = 0;
  open->closed = 0;
  open->recorded = 0;
  const uint64_t now = headroom_impl_now(thread);
  open->start = now;
  if (HEADROOM_IMPL_LIKELY(stats != NULL)) ++stats->open;
  if (thread->depth > 0) open[-1].self += now - thread->last;
  thread->last = now;
  ++thread->depth;
  if (thread->out.ring != NULL) {
    const uint32_t payload = kind == HEADROOM_KIND_STEP;
    if (HEADROOM_IMPL_LIKELY(headroom_impl_room(&thread->out, 2 + payload))) {
      open->recorded = 1;
      ++thread->out.pending;
      headroom_impl_write(&thread->out, now, site, kind | serial << 8);
      if (payload) headroom_impl_write(&thread->out, (uint64_t)number, 0, 0);
      headroom_impl_publish(&thread->out);
    }
  }
  return thread->number << 33 | (uint64_t)serial << 9 | thread->depth;
}

/// A place in the source that begins regions. Must be static, so that its key is looked up once.
struct headroom_impl_site {
  const char *key, *function, *file;
  int line;
  uint64_t numbers;  ///< Atomic: the place in the upper 32 bits, the key in the lower 32; 0: not
                     ///< looked up.
};

HEADROOM_IMPL_SLOW static uint64_t headroom_impl_look_up(struct headroom_impl_site* site) {
  const uint32_t key = headroom_impl_key(site->key);
  const uint32_t place = headroom_impl_add_site(key, site->function, site->file, site->line);
  const uint64_t numbers = (uint64_t)place << 32 | key;
  __atomic_store_n(&site->numbers, numbers, __ATOMIC_RELEASE);
  return numbers;
}

static inline headroom_token headroom_impl_begin_site(struct headroom_impl_site* site) {
  uint64_t numbers = HEADROOM_IMPL_GET(site->numbers);
  if (HEADROOM_IMPL_UNLIKELY(numbers == 0)) numbers = headroom_impl_look_up(site);
  return headroom_impl_begin((uint32_t)numbers, (uint32_t)(numbers >> 32), HEADROOM_KIND_BEGIN, 0);
}

static inline uint32_t headroom_impl_bucket(uint64_t ticks) {
  if (ticks < 16) return (uint32_t)ticks;
  const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(ticks);
  const uint32_t bucket = (exponent - 3) * 16 + ((ticks >> (exponent - 4)) & 15);
  return bucket < HEADROOM_IMPL_BUCKETS ? bucket : HEADROOM_IMPL_BUCKETS - 1;
}

/// Adds a region of `ticks` that has ended.
/// @param alone  the part that no earlier region of the same key covers
static inline void headroom_impl_count(struct headroom_impl_stats_block* s, uint64_t ticks,
                                       uint64_t alone, uint64_t self) {
  const uint64_t version = s->version;
  __atomic_store_n(&s->version, version + 1, __ATOMIC_RELAXED);
  if (s->count == 0) HEADROOM_IMPL_PUT(s->shift, ticks);
  const double off = (double)(int64_t)(ticks - s->shift);
  HEADROOM_IMPL_PUT(s->count, s->count + 1);
  HEADROOM_IMPL_PUT(s->total, s->total + alone);
  HEADROOM_IMPL_PUT(s->self, s->self + self);
  if (ticks < s->min) HEADROOM_IMPL_PUT(s->min, ticks);
  if (ticks > s->max) HEADROOM_IMPL_PUT(s->max, ticks);
  HEADROOM_IMPL_PUT(s->sum, headroom_impl_bits(headroom_impl_double(s->sum) + off));
  HEADROOM_IMPL_PUT(s->sum2, headroom_impl_bits(headroom_impl_double(s->sum2) + off * off));
  uint64_t* bucket = s->buckets + headroom_impl_bucket(ticks);
  HEADROOM_IMPL_PUT(*bucket, *bucket + 1);
  HEADROOM_IMPL_PUT(s->version, version + 2);
}

/// Adds the time of `ended` to the covered time of the open regions with the same key, so that each
/// moment counts once. A region that never ends therefore costs the key only that region's own
/// time.
HEADROOM_IMPL_SLOW static void headroom_impl_cover(struct headroom_impl_thread* thread,
                                                   const struct headroom_impl_open* ended,
                                                   uint64_t now) {
  const uint64_t alone = now - ended->start - ended->covered;
  for (struct headroom_impl_open* open = thread->open; open < thread->open + thread->depth;
       ++open) {
    if (open == ended || open->closed || open->stats != ended->stats) continue;
    // Regions below `ended` on the stack began earlier. Those above it began later, so `ended`
    // covers all their time so far.
    open->covered = open < ended ? open->covered + alone : now - open->start;
  }
}

HEADROOM_IMPL_SLOW static void headroom_impl_unmatched(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  pthread_mutex_lock(&state->lock);
  if (state->ready) __atomic_fetch_add(&state->shared->unmatched, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&state->lock);
}

/// @param counts  0 for a region that was left open: it is closed without statistics
static inline void headroom_impl_close(headroom_token token, int counts) {
  struct headroom_impl_thread* thread = headroom_impl_thread_v1;
  const uint32_t at = (uint32_t)(token & 0x1ff) - 1;
  if (HEADROOM_IMPL_UNLIKELY(
          thread == NULL || token >> 33 != thread->number || at >= thread->depth ||
          thread->open[at].serial != ((token >> 9) & 0xffffffu) || thread->open[at].closed)) {
    headroom_impl_unmatched();
    return;
  }
  const uint64_t now = headroom_impl_now(thread);
  struct headroom_impl_open* open = thread->open + at;
  thread->open[thread->depth - 1].self += now - thread->last;
  thread->last = now;
  if (open->recorded) {
    --thread->out.pending;
    headroom_impl_write(&thread->out, now, open->key, HEADROOM_KIND_END | open->serial << 8);
    headroom_impl_publish(&thread->out);
  }
  if (HEADROOM_IMPL_LIKELY(open->stats != NULL)) {
    const uint64_t ticks = now - open->start;
    if (counts) headroom_impl_count(open->stats, ticks, ticks - open->covered, open->self);
    if (HEADROOM_IMPL_UNLIKELY(--open->stats->open > 0) && counts) {
      headroom_impl_cover(thread, open, now);
    }
  }
  open->closed = 1;
  while (thread->depth > 0 && thread->open[thread->depth - 1].closed) --thread->depth;
}

static inline void headroom_impl_end(headroom_token token) { headroom_impl_close(token, 1); }

/// Closes a region that was left open, for example by an exception. In a recording it ends now.
HEADROOM_IMPL_SLOW static void headroom_impl_abandon(headroom_token token) {
  if (token != 0) headroom_impl_close(token, 0);
}

static inline void headroom_impl_event(uint32_t key, uint32_t kind, int payload, uint64_t value) {
  struct headroom_impl_thread* thread = headroom_impl_thread_v1;
  if (key == 0) return;
  if (HEADROOM_IMPL_UNLIKELY(thread == NULL) && (thread = headroom_impl_attach()) == NULL) return;
  if (thread->out.ring == NULL || !headroom_impl_room(&thread->out, 1u + (uint32_t)payload)) return;
  headroom_impl_write(&thread->out, headroom_impl_now(thread), key, kind);
  if (payload) headroom_impl_write(&thread->out, value, 0, 0);
  headroom_impl_publish(&thread->out);
}

// --- queries -------------------------------------------------------------------------------------

HEADROOM_IMPL_SLOW static void headroom_impl_enable(int on) {
  if (on) {
    __atomic_fetch_and(&headroom_impl_state_v1.off, ~HEADROOM_IMPL_OFF_NOW, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_or(&headroom_impl_state_v1.off, HEADROOM_IMPL_OFF_NOW, __ATOMIC_RELAXED);
  }
}

HEADROOM_IMPL_SLOW static void headroom_impl_be_helper(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  pthread_mutex_lock(&state->lock);
  state->helper = 1;
  if (state->ready && !state->forked) {
    HEADROOM_IMPL_PUT(state->shared->helper_of, (uint32_t)getppid());
  }
  pthread_mutex_unlock(&state->lock);
}

HEADROOM_IMPL_SLOW static int headroom_impl_enabled(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  const int on = headroom_impl_lock_started() && headroom_impl_on();
  pthread_mutex_unlock(&state->lock);
  return on;
}

HEADROOM_IMPL_SLOW static int headroom_impl_recorded(void) {
  return headroom_impl_enabled() && HEADROOM_IMPL_GET(headroom_impl_state_v1.recorded);
}

/// Returns the middle of the bucket that contains the percentile, limited to the minimum and
/// maximum.
HEADROOM_IMPL_SLOW static double headroom_impl_percentile(const struct headroom_impl_stats_block* s,
                                                          double share) {
  const double rank = share * (double)s->count;
  double below = 0;
  for (uint32_t i = 0; i < HEADROOM_IMPL_BUCKETS; ++i) {
    below += (double)s->buckets[i];
    if (below < rank || s->buckets[i] == 0) continue;
    double middle = i;
    if (i >= 16) {
      const double width = (double)((uint64_t)1 << (i / 16 - 1));
      middle = (double)(16 + i % 16) * width + width / 2;
    }
    if (middle < (double)s->min) return (double)s->min;
    return middle > (double)s->max ? (double)s->max : middle;
  }
  return (double)s->max;
}

HEADROOM_IMPL_SLOW static double headroom_impl_seconds_per_tick(void) {
  const struct headroom_impl_state* state = &headroom_impl_state_v1;
  if (state->clock != HEADROOM_CLOCK_COUNTER) return 1e-9;
  struct headroom_impl_anchor now;
  do {  // Over a millisecond the two readings are at most about 0.01 % off.
    now = headroom_impl_anchor_now(state->clock);
  } while (now.ns - state->anchor.ns < 1000000);
  return 1e-9 * (double)(now.ns - state->anchor.ns) / (double)(now.ticks - state->anchor.ticks);
}

/// Returns the square root of a positive number by Newton's method. sqrt() would make C programs
/// link libm.
HEADROOM_IMPL_SLOW static double headroom_impl_sqrt(double x) {
  // Halving the exponent gives the root within 6 %. Each round doubles the correct digits.
  double root = headroom_impl_double((headroom_impl_bits(x) >> 1) + 0x1FF7A3BEA91D9B1BULL);
  for (int round = 0; round < 5; ++round) root = 0.5 * (root + x / root);
  return root;
}

/// @param tick  seconds per tick
HEADROOM_IMPL_SLOW static void headroom_impl_summary(const struct headroom_impl_stats_block* sum,
                                                     double tick, struct headroom_stats* out) {
  memset(out, 0, sizeof *out);
  if (sum->count == 0) return;
  const double n = (double)sum->count, off = headroom_impl_double(sum->sum);
  const double spread = headroom_impl_double(sum->sum2) - off * off / n;
  out->count = sum->count;
  out->total_s = (double)sum->total * tick;
  out->self_s = (double)sum->self * tick;
  out->min_s = (double)sum->min * tick;
  out->max_s = (double)sum->max * tick;
  out->mean_s = ((double)sum->shift + off / n) * tick;
  out->stdev_s = sum->count > 1 && spread > 0 ? headroom_impl_sqrt(spread / (n - 1)) * tick : 0;
  out->p50_s = headroom_impl_percentile(sum, 0.50) * tick;
  out->p90_s = headroom_impl_percentile(sum, 0.90) * tick;
  out->p99_s = headroom_impl_percentile(sum, 0.99) * tick;
}

HEADROOM_IMPL_SLOW static int headroom_impl_stats(const char* key, struct headroom_stats* out) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  const int all = strcmp(key, "ALL") == 0;
  memset(out, 0, sizeof *out);
  size_t length;
  const uint32_t hash = headroom_impl_hash(key, &length);
  const uint32_t wanted = all ? 0 : headroom_impl_find(key, length, hash);
  if ((!all && wanted == 0) || wanted >= HEADROOM_IMPL_KEYS) return 0;
  struct headroom_impl_stats_block* sum = (struct headroom_impl_stats_block*)calloc(1, sizeof *sum);
  if (sum == NULL) return 0;
  int known = 0;
  pthread_mutex_lock(&state->lock);
  for (uint32_t id = all ? 1 : wanted; id < HEADROOM_IMPL_KEYS && (all || id == wanted); ++id) {
    if (state->retired[id] != NULL) {
      known = 1;
      headroom_impl_merge(sum, state->retired[id]);
    }
    for (struct headroom_impl_thread* thread = state->threads; thread != NULL;
         thread = thread->next) {
      struct headroom_impl_stats_block* live = HEADROOM_IMPL_GET(thread->stats[id]);
      if (live == NULL) continue;
      known = 1;
      const struct headroom_impl_stats_block copy = headroom_impl_copy(live);
      headroom_impl_merge(sum, &copy);
    }
  }
  pthread_mutex_unlock(&state->lock);
  headroom_impl_summary(sum, headroom_impl_seconds_per_tick(), out);
  free(sum);
  return known;
}

HEADROOM_IMPL_SLOW static struct headroom_drops headroom_impl_drops(void) {
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  struct headroom_drops drops = {0, 0, 0, 0, 0, 0};
  pthread_mutex_lock(&state->lock);
  if (state->ready) {
    const struct headroom_shared* shared = state->shared;
    drops.ring = state->retired_ring_drops;
    for (const struct headroom_impl_thread* t = state->threads; t != NULL; t = t->next) {
      if (t->out.ring != NULL) drops.ring += HEADROOM_IMPL_GET(t->out.ring->dropped);
    }
    drops.threads = HEADROOM_IMPL_GET(shared->dropped_threads);
    drops.depth = HEADROOM_IMPL_GET(shared->dropped_depth);
    drops.names = HEADROOM_IMPL_GET(shared->dropped_names);
    drops.unmatched = HEADROOM_IMPL_GET(shared->unmatched);
    drops.statistics = HEADROOM_IMPL_GET(state->dropped_statistics);
  }
  pthread_mutex_unlock(&state->lock);
  return drops;
}

#if defined(__cplusplus)
}  // extern "C"
#pragma GCC diagnostic pop
#endif

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier,misc-definitions-in-headers)
