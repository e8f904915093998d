// A thread without the interpreter's lock asks for a sample at random moments (Py_AddPendingCall).
// The main thread takes it at the next instruction between bytecodes, as it handles a signal: after
// a call into C returns, with the frame that made the call on top. So a sample costs the loop the
// walk along its frames alone, no switch of threads, and every moment is equally likely, also those
// in which C code keeps the lock.
//
// Before Python 3.13, a request does not reach a main thread that executes bytecodes: the flag that
// it looks at is computed for the thread that asks. A signal to the main thread, with a handler
// that does nothing, sets the flag. It is sent only while the thread runs, never while it waits in
// a system call, which would fail with EINTR.
//
// Refused: a thread that reads sys._current_frames(). It gets the lock when the loop's thread gives
// it up, which is inside an operator and not in the Python code before it, and makes the loop wait
// for its turn. Refused: signals at any time, because of EINTR. Refused: reading the frames from
// outside the process. Their layout differs between versions of Python, and many containers do not
// allow it.
#include "stacks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "headroom/timer.h"

enum {
  kMaxFrames = 256,  // The innermost frames of a deeper stack are kept.
  kTableSize = 1 << 15,
  kMaxLines = 1 << 13,  // Further lines of code share one name.
};

/// A line of a code object. The table holds a reference, so that no other code gets its address.
struct Line {
  PyObject* code;  // Null: free.
  int number;
  uint32_t name;  // 0: frames of this line are left out.
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  pthread_t thread, main_thread;
  int signal;      // 0: requests reach the main thread without one.
  int main_state;  // Descriptor of the main thread's /proc/self/task/TID/stat; -1: none.
  int pid;         // The process whose thread samples; 0: none.
  int stop;
  uint64_t asked;   // Ticks of the first request that is not answered; 0: none.
  uint32_t misses;  // Requests since then.
  // Below: only the main thread uses them, with the interpreter's lock.
  int taking;
  int64_t period_ns;
  struct headroom_impl_writer out;
  PyObject* name_of;
  PyObject *code_name, *line_name, *back_name;
  struct Line* lines;
  int line_count;
} sampler = {.lock = PTHREAD_MUTEX_INITIALIZER, .main_state = -1};

/// Returns the name of a line that has none yet: name_of(code, line), or 0 for None or an error.
static uint32_t NewName(PyObject* code, int number) {
  uint32_t name = 0;
  PyObject* text = PyObject_CallFunction(sampler.name_of, "Oi", code, number);
  if (text != NULL && text != Py_None) {
    PyObject* bytes = PyUnicode_AsUTF8String(text);
    if (bytes != NULL) {
      name = headroom_impl_key(PyBytes_AsString(bytes));
      Py_DECREF(bytes);
    }
  }
  Py_XDECREF(text);
  PyErr_Clear();
  return name;
}

static uint32_t NameOf(PyObject* code, int number) {
  uint64_t hash = ((uint64_t)(uintptr_t)code >> 4) * 31 + (uint64_t)(uint32_t)number;
  hash *= UINT64_C(0x9E3779B97F4A7C15);
  size_t slot = (size_t)(hash >> 40) % kTableSize;
  while (sampler.lines[slot].code != NULL) {
    const struct Line* line = sampler.lines + slot;
    if (line->code == code && line->number == number) return line->name;
    slot = (slot + 1) % kTableSize;
  }
  if (sampler.line_count == kMaxLines) return headroom_impl_key("(further lines)");
  ++sampler.line_count;
  Py_INCREF(code);
  sampler.lines[slot] = (struct Line){code, number, 0};  // First: name_of() is itself sampled.
  return sampler.lines[slot].name = NewName(code, number);
}

/// Writes the names of the frames from `frame` outwards to `names`, innermost first. Returns their
/// number.
static int WalkFrames(PyObject* frame, uint32_t* names) {
  int count = 0;
  Py_XINCREF(frame);
  while (frame != NULL && frame != Py_None && count < kMaxFrames) {
    PyObject* code = PyObject_GetAttr(frame, sampler.code_name);
    PyObject* line = PyObject_GetAttr(frame, sampler.line_name);
    const long number = line != NULL && line != Py_None ? PyLong_AsLong(line) : 0;
    if (code != NULL) {
      const uint32_t name = NameOf(code, (int)number);
      if (name != 0) names[count++] = name;
    }
    PyObject* back = PyObject_GetAttr(frame, sampler.back_name);
    Py_XDECREF(code);
    Py_XDECREF(line);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  PyErr_Clear();
  return count;
}

static void WriteSample(uint64_t ticks, uint32_t samples, const uint32_t* names, int count) {
  struct headroom_impl_writer* out = &sampler.out;
  if (out->ring == NULL) {
    if (headroom_impl_lock_started()) {
      headroom_impl_open_ring(out, HEADROOM_RING_STACKS, (int32_t)syscall(SYS_gettid), 0, 0, NULL);
    }
    pthread_mutex_unlock(&headroom_impl_state_v1.lock);
  }
  if (out->ring == NULL || !headroom_impl_room(out, (uint32_t)count + 2)) return;
  for (int i = count; i-- > 0;) headroom_impl_write(out, ticks, names[i], HEADROOM_KIND_FRAME);
  headroom_impl_write(out, ticks, 0, HEADROOM_KIND_STACK);
  headroom_impl_write(out, samples, 0, 0);
  headroom_impl_publish(out);
}

/// Runs on the main thread, between two bytecodes, with the interpreter's lock.
static int Take(void* unused) {
  (void)unused;
  static uint32_t names[kMaxFrames];
  // In a forked child, the parent's sampling thread may have held the lock.
  if (sampler.pid != (int)getpid()) return 0;
  pthread_mutex_lock(&sampler.lock);
  const uint64_t asked = sampler.asked;
  const uint32_t samples = 1 + sampler.misses;
  sampler.asked = 0;
  sampler.misses = 0;
  const int stopped = sampler.stop;
  pthread_mutex_unlock(&sampler.lock);
  if (stopped || asked == 0 || sampler.taking || !headroom_impl_on()) return 0;
  sampler.taking = 1;  // name_of() runs bytecodes, between which a sample may be asked for.
  const int count = WalkFrames((PyObject*)PyEval_GetFrame(), names);
  if (count > 0) WriteSample(asked, samples, names, count);
  sampler.taking = 0;
  return 0;
}

/// Returns 1 if the main thread runs or is ready to run; 0 if it waits, or on an error.
static int MainThreadRuns(void) {
  char text[256];
  const ssize_t length = pread(sampler.main_state, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  const char* name_end = strrchr(text, ')');
  return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

/// Lets the main thread look at its pending calls. Sends no signal that would end the process: the
/// program may have reset its handlers.
static void Signal(void) {
  struct sigaction now;
  if (sigaction(sampler.signal, NULL, &now) == 0 && now.sa_handler != SIG_DFL) {
    pthread_kill(sampler.main_thread, sampler.signal);
  }
}

/// Asks for samples, at intervals between half and one and a half of the period: a loop with a
/// regular step would otherwise be seen at the same places of its step again and again.
static void* Ask(void* unused) {
  (void)unused;
  uint64_t random = (uint64_t)getpid() * UINT64_C(0x9E3779B97F4A7C15);
  const uint32_t clock = headroom_impl_state_v1.clock;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  pthread_mutex_lock(&sampler.lock);
  while (!sampler.stop) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int64_t wait =
        sampler.period_ns / 2 + (int64_t)((double)(random >> 32) * 0x1p-32 * sampler.period_ns);
    next.tv_nsec += (long)(wait % 1000000000);
    next.tv_sec += (time_t)(wait / 1000000000) + next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    int waited = 0;
    while (!sampler.stop && waited != ETIMEDOUT) {
      waited = pthread_cond_timedwait(&sampler.wake, &sampler.lock, &next);
    }
    if (sampler.stop) break;
    if (sampler.asked != 0) {
      ++sampler.misses;  // The main thread is still in the same call.
      continue;
    }
    sampler.asked = headroom_impl_ticks(clock);
    pthread_mutex_unlock(&sampler.lock);  // The interpreter has a lock around its pending calls.
    const int full = Py_AddPendingCall(Take, NULL);
    if (full == 0 && sampler.signal != 0 && MainThreadRuns()) Signal();
    pthread_mutex_lock(&sampler.lock);
    if (full != 0) sampler.asked = 0;
  }
  pthread_mutex_unlock(&sampler.lock);
  return NULL;
}

static void OpenMainState(void) {
  if (sampler.main_state >= 0) close(sampler.main_state);  // The parent's.
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)syscall(SYS_gettid));
  sampler.main_state = headroom_impl_above_standard(open(path, O_RDONLY | O_CLOEXEC));
}

/// Returns 0 if the memory and the names are there.
static int Prepare(PyObject* name_of) {
  if (sampler.lines == NULL) {
    sampler.lines = (struct Line*)calloc(kTableSize, sizeof(struct Line));
    sampler.code_name = PyUnicode_InternFromString("f_code");
    sampler.line_name = PyUnicode_InternFromString("f_lineno");
    sampler.back_name = PyUnicode_InternFromString("f_back");
  }
  Py_INCREF(name_of);
  Py_XDECREF(sampler.name_of);
  sampler.name_of = name_of;
  return sampler.lines != NULL && sampler.code_name != NULL && sampler.line_name != NULL &&
                 sampler.back_name != NULL
             ? 0
             : -1;
}

PyObject* StacksStart(PyObject* module, PyObject* args) {
  (void)module;
  double hz = 0;
  PyObject* name_of = NULL;
  int signal_number = 0;
  if (!PyArg_ParseTuple(args, "dOi:sample_stacks", &hz, &name_of, &signal_number)) return NULL;
  if (!(hz >= 0.01 && hz <= 1000)) {
    PyErr_SetString(PyExc_ValueError, "sample_stacks: hz must be from 0.01 to 1000");
    return NULL;
  }
  if (sampler.pid == (int)getpid() || !headroom_recorded()) return PyBool_FromLong(0);
  if (Prepare(name_of) != 0) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  // In a forked child the parent's thread does not run, and its ring is the parent's.
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&sampler.lock, NULL);
  pthread_cond_init(&sampler.wake, &clock);
  pthread_condattr_destroy(&clock);
  memset(&sampler.out, 0, sizeof sampler.out);
  sampler.stop = sampler.taking = 0;
  sampler.asked = sampler.misses = 0;
  sampler.period_ns = (int64_t)(1e9 / hz);
  sampler.main_thread = pthread_self();
  sampler.signal = signal_number;
  if (signal_number != 0) OpenMainState();
  sigset_t all, before;  // The program's signals are for its own threads.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&sampler.thread, NULL, Ask, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed == 0) {
    sampler.pid = (int)getpid();
    pthread_setname_np(sampler.thread, "headroom");
  }
  return PyBool_FromLong(failed == 0);
}

PyObject* StacksStop(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  if (sampler.pid == (int)getpid()) {
    pthread_mutex_lock(&sampler.lock);
    sampler.stop = 1;
    pthread_cond_signal(&sampler.wake);
    pthread_mutex_unlock(&sampler.lock);
    // The thread waits for no lock of the interpreter.
    pthread_join(sampler.thread, NULL);
    sampler.pid = 0;
    if (headroom_impl_lock_started()) headroom_impl_close_ring(&sampler.out);
    pthread_mutex_unlock(&headroom_impl_state_v1.lock);
  }
  Py_INCREF(Py_None);
  return Py_None;
}
