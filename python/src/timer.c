// headroom._timer: the region timer of headroom/timer.h for Python.
//
// Written in plain C on the stable ABI, so that one file loads in every CPython from 3.9 on. The
// engine is no module: ctypes calls its functions (engine.h), at some microseconds a call.
//
// A scope may be open several times at once: nested, in several threads, or in interleaved
// coroutines. Each thread keeps a list of open scopes, each with the frame that entered it. A
// `with` statement enters and leaves in one frame, so each interleaved coroutine ends its own
// region. Leaving from another frame (ExitStack) ends the latest region of that scope.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000  // NOLINT(readability-identifier-naming): Python's.
#include <Python.h>
#include <pthread.h>

#include "headroom/timer.h"
#include "stacks.h"

enum { kMaxOpen = HEADROOM_IMPL_DEPTH };

typedef struct {
  PyObject_HEAD uint32_t key;  // 0: collection was off at the last lookup.
  int is_step;
  int64_t number;  // Step number; negative: the next one.
  PyObject* name;  // str
  PyObject* text;  // bytes, UTF-8
} Scope;

struct OpenScope {
  const Scope* scope;
  const void* frame;  // Only compared, never dereferenced: the frame may have been freed.
  headroom_token token;
};

static __thread struct OpenScope open_scopes[kMaxOpen];
static __thread int open_count;
static __thread int64_t open_beyond;  // Scopes entered while open_scopes was full.

// A token of no region, which counts as unmatched. Volatile: GCC 12 otherwise folds it into
// headroom_end() and warns about an index that is never reached.
static const volatile headroom_token kNoRegion = UINT64_MAX;

static int64_t next_step;
static headroom_token newest_tool_step;  // The latest numbered step, if a tool began it.
static int64_t user_steps;
static __thread uint64_t
    step_began;  // Start of the latest step on this thread, in ticks of the collector.
static PyTypeObject* scope_type;
static PyTypeObject* stats_type;
static PyTypeObject* drops_type;

// Replaces Py_RETURN_NONE: headers of Python 3.12 and later treat None as immortal, but this file
// also loads in older versions, where it is not.
static PyObject* NewNone(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

// The parent's open scopes do not belong to the child: it leaves the `with` without ending a
// region.
static void InChild(void) {
  for (int i = 0; i < open_count; ++i) open_scopes[i].token = 0;
}

// --- keys ----------------------------------------------------------------------------------------

/// Returns a key's text as UTF-8 (a new reference); NULL with an exception.
static PyObject* TextOf(PyObject* name) {
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "a key must be a str");
    return NULL;
  }
  PyObject* text = PyUnicode_AsUTF8String(name);
  if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
    PyErr_Clear();  // A lone surrogate, for example from a file name. Escaped, because people read
                    // the key.
    text = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
  }
  if (text == NULL) return NULL;
  char* bytes = NULL;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(text, &bytes, &size) != 0 || strlen(bytes) != (size_t)size) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_ValueError, "a key must not contain zero characters");
    Py_DECREF(text);
    return NULL;
  }
  return text;
}

/// Like TextOf(), for the key of a region. Rejects ALL.
static PyObject* RegionTextOf(PyObject* name) {
  PyObject* text = TextOf(name);
  if (text != NULL && strcmp(PyBytes_AsString(text), "ALL") == 0) {
    PyErr_SetString(PyExc_ValueError,
                    "ALL means all keys in a query; a region requires another key");
    Py_CLEAR(text);
  }
  return text;
}

// --- Scope ---------------------------------------------------------------------------------------

/// Returns the key; 0: nothing is collected.
static uint32_t ScopeKey(Scope* self) {
  if (self->key == 0 && headroom_impl_on()) self->key = headroom_key(PyBytes_AsString(self->text));
  return self->key;
}

static headroom_token BeginStep(int64_t number) {
  const headroom_token token = headroom_begin_step(number);
  if (token != 0) step_began = headroom_impl_thread_v1->last;
  return token;
}

static headroom_token ScopeBeginToken(Scope* self) {
  if (self->is_step) {
    const int64_t number = self->number >= 0 ? self->number : next_step;
    next_step = number + 1;
    newest_tool_step = 0;
    return BeginStep(number);
  }
  return headroom_begin_key(ScopeKey(self));
}

static Scope* ScopeMake(PyTypeObject* type, PyObject* name, int is_step, int64_t number) {
  PyObject* text = RegionTextOf(name);
  if (text == NULL) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Scope* self = (Scope*)alloc(type, 0);
  if (self == NULL) {
    Py_DECREF(text);
    return NULL;
  }
  Py_INCREF(name);
  self->name = name;
  self->text = text;
  self->is_step = is_step;
  self->number = number;
  return self;
}

static PyObject* ScopeNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"key", NULL};
  PyObject* name = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:scope", names, &name)) return NULL;
  return (PyObject*)ScopeMake(type, name, 0, -1);
}

static void ScopeDealloc(PyObject* object) {
  Scope* self = (Scope*)object;
  PyTypeObject* type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  Py_CLEAR(self->name);
  Py_CLEAR(self->text);
  release(object);
  Py_DECREF(type);
}

static PyObject* ScopeRepr(PyObject* object) {
  return PyUnicode_FromFormat("<headroom.scope %R>", ((Scope*)object)->name);
}

static PyObject* ScopeEnter(PyObject* object, PyObject* unused) {
  (void)unused;
  Scope* self = (Scope*)object;
  if (open_count < kMaxOpen) {
    struct OpenScope* open = open_scopes + open_count++;
    open->scope = self;
    open->frame = (const void*)PyEval_GetFrame();
    open->token = ScopeBeginToken(self);
  } else {
    ++open_beyond;
    headroom_end(ScopeBeginToken(self));  // The collector's list of open regions is full too; it
                                          // counts the region as dropped.
  }
  if (self->is_step) ++user_steps;
  Py_INCREF(object);
  return object;
}

static PyObject* ScopeExit(PyObject* object, PyObject* args) {
  (void)args;
  const void* frame = (const void*)PyEval_GetFrame();
  int at = open_count - 1;
  while (at >= 0 && (open_scopes[at].scope != (Scope*)object || open_scopes[at].frame != frame)) {
    --at;
  }
  if (at < 0 && open_beyond > 0) {
    --open_beyond;
    return NewNone();
  }
  if (at < 0) {
    at = open_count - 1;
    while (at >= 0 && open_scopes[at].scope != (Scope*)object) --at;
  }
  if (at < 0) {
    headroom_end(kNoRegion);
    return NewNone();
  }
  const headroom_token token = open_scopes[at].token;
  --open_count;
  for (int i = at; i < open_count; ++i) open_scopes[i] = open_scopes[i + 1];
  headroom_end(token);
  return NewNone();
}

static PyObject* ScopeBegin(PyObject* object, PyObject* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(ScopeBeginToken((Scope*)object));
}

static int ScopeOpened(Scope* self) {
  const struct headroom_impl_thread* thread = headroom_impl_thread_v1;
  const uint32_t key = ScopeKey(self);
  if (thread == NULL || key == 0 || key >= HEADROOM_IMPL_KEYS) return 0;
  const struct headroom_impl_stats_block* stats = thread->stats[key];
  if (stats == NULL || stats->open == 0) return 0;
  // Regions that began before the current step and are still open were abandoned, for example by an
  // exception.
  for (uint32_t i = thread->depth; i-- > 0 && thread->open[i].start >= step_began;) {
    if (thread->open[i].stats == stats && !thread->open[i].closed) return 1;
  }
  return 0;
}

static PyObject* ScopeIsOpen(PyObject* object, PyObject* unused) {
  (void)unused;
  return PyBool_FromLong(ScopeOpened((Scope*)object));
}

static PyObject* ScopeBeginOutermost(PyObject* object, PyObject* unused) {
  (void)unused;
  if (ScopeOpened((Scope*)object)) return PyLong_FromLong(0);
  return PyLong_FromUnsignedLongLong(ScopeBeginToken((Scope*)object));
}

// @scope: the wrapper is Python code (headroom/_decorate.py), because only Python can create
// coroutine functions and copy names and signatures.
static PyObject* ScopeCall(PyObject* object, PyObject* args, PyObject* kwargs) {
  PyObject* function = NULL;
  static char* names[] = {"function", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:scope", names, &function)) return NULL;
  PyObject* module = PyImport_ImportModule("headroom._decorate");
  if (module == NULL) return NULL;
  PyObject* wrapped = PyObject_CallMethod(module, "decorate", "OO", object, function);
  Py_DECREF(module);
  return wrapped;
}

static PyObject* ScopeKeyOf(PyObject* object, void* unused) {
  (void)unused;
  PyObject* name = ((Scope*)object)->name;
  Py_INCREF(name);
  return name;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", ScopeEnter, METH_NOARGS, "Begins the region on the calling thread."},
    {"__exit__", ScopeExit, METH_VARARGS, "Ends the region, also after an exception."},
    {"begin", ScopeBegin, METH_NOARGS,
     "begin($self, /)\n--\n\nBegins a region; returns the token for headroom.end()."},
    {"is_open", ScopeIsOpen, METH_NOARGS,
     "is_open($self, /)\n--\n\nReturns True if a region of this key is open on the calling "
     "thread. Ignores regions left open by an earlier step."},
    {"begin_outermost", ScopeBeginOutermost, METH_NOARGS,
     "begin_outermost($self, /)\n--\n\nbegin(), unless is_open(); then it returns 0 and does "
     "nothing."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef scope_members[] = {{"key", ScopeKeyOf, NULL, "The key, as given.", NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};

static const char kScopeDoc[] =
    "scope(key)\n--\n\n"
    "A region of code that is timed under `key` (any str but \"ALL\"):\n\n"
    "    forward = headroom.scope(\"FORWARD\")    # once\n"
    "    with forward:                          # as often as wanted, in any thread\n"
    "        ...\n\n"
    "    @headroom.scope(\"IO\")                  # a function, coroutine function or generator\n"
    "    def load(): ...\n\n"
    "The region ends with the block, also after an exception. Regions may nest, also of one key,\n"
    "and may overlap. A decorated function keeps its result. A coroutine is timed from its first\n"
    "step to its end, waits included; a generator, each time that it runs.";

static PyType_Slot scope_slots[] = {
    {Py_tp_doc, (void*)kScopeDoc},        {Py_tp_new, (void*)ScopeNew},
    {Py_tp_dealloc, (void*)ScopeDealloc}, {Py_tp_repr, (void*)ScopeRepr},
    {Py_tp_call, (void*)ScopeCall},       {Py_tp_methods, scope_methods},
    {Py_tp_getset, scope_members},        {0, NULL}};

static PyType_Spec scope_spec = {"headroom._timer.Scope", sizeof(Scope), 0, Py_TPFLAGS_DEFAULT,
                                 scope_slots};

// --- functions -----------------------------------------------------------------------------------

static PyObject* ModuleBegin(PyObject* module, PyObject* name) {
  (void)module;
  PyObject* text = RegionTextOf(name);
  if (text == NULL) return NULL;
  const headroom_token token = headroom_begin(PyBytes_AsString(text));
  Py_DECREF(text);
  return PyLong_FromUnsignedLongLong(token);
}

/// Passes the token to `close`. Returns NULL and sets an exception if it is not a token.
static PyObject* CloseToken(PyObject* token, void (*close)(headroom_token)) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(token);
  if (value == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  close(value);
  return NewNone();
}

static PyObject* ModuleEnd(PyObject* module, PyObject* token) {
  (void)module;
  return CloseToken(token, headroom_end);
}

static PyObject* ModuleAbandon(PyObject* module, PyObject* token) {
  (void)module;
  return CloseToken(token, headroom_impl_abandon);
}

static PyObject* ModuleStep(PyObject* module, PyObject* args, PyObject* kwargs) {
  (void)module;
  static char* names[] = {"number", NULL};
  PyObject* given = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:step", names, &given)) return NULL;
  int64_t number = -1;
  if (given != Py_None) {
    number = PyLong_AsLongLong(given);
    if (number == -1 && PyErr_Occurred()) return NULL;
    if (number < 0) {
      PyErr_SetString(PyExc_ValueError, "a step's number must be at least 0");
      return NULL;
    }
  }
  PyObject* name = PyUnicode_FromString("STEP");
  if (name == NULL) return NULL;
  Scope* step = ScopeMake(scope_type, name, 1, number);
  Py_DECREF(name);
  return (PyObject*)step;
}

static PyObject* ModuleBeginStep(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  newest_tool_step = BeginStep(next_step++);
  return PyLong_FromUnsignedLongLong(newest_tool_step);
}

static PyObject* ModuleCancelStep(PyObject* module, PyObject* token) {
  (void)module;
  const headroom_token step = PyLong_AsUnsignedLongLong(token);
  if (PyErr_Occurred()) return NULL;
  if (step != 0) {
    // Reuses the number, unless another thread has begun a step meanwhile.
    if (step == newest_tool_step) --next_step;
    newest_tool_step = 0;
    headroom_mark("step.empty");
    headroom_impl_abandon(step);  // An empty step must not appear in the statistics.
  }
  return NewNone();
}

static PyObject* ModuleUserSteps(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyLong_FromLongLong(user_steps);
}

static PyObject* ModuleMark(PyObject* module, PyObject* name) {
  (void)module;
  PyObject* text = TextOf(name);
  if (text == NULL) return NULL;
  headroom_mark(PyBytes_AsString(text));
  Py_DECREF(text);
  return NewNone();
}

static PyObject* ModuleCounter(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* name = NULL;
  double value = 0;
  if (!PyArg_ParseTuple(args, "Od:counter", &name, &value)) return NULL;
  PyObject* text = TextOf(name);
  if (text == NULL) return NULL;
  headroom_counter(PyBytes_AsString(text), value);
  Py_DECREF(text);
  return NewNone();
}

static PyObject* ModuleGradient(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* name = NULL;
  long long bytes = 0;
  if (!PyArg_ParseTuple(args, "OL:gradient", &name, &bytes)) return NULL;
  PyObject* text = TextOf(name);
  if (text == NULL) return NULL;
  headroom_gradient(PyBytes_AsString(text), bytes);
  Py_DECREF(text);
  return NewNone();
}

static PyObject* ModuleStats(PyObject* module, PyObject* args, PyObject* kwargs) {
  (void)module;
  static char* names[] = {"key", NULL};
  PyObject* name = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:stats", names, &name)) return NULL;
  struct headroom_stats stats;
  if (name == NULL) {
    headroom_stats_of("ALL", &stats);
  } else {
    PyObject* text = TextOf(name);
    if (text == NULL) return NULL;
    headroom_stats_of(PyBytes_AsString(text), &stats);
    Py_DECREF(text);
  }
  PyObject* result = PyStructSequence_New(stats_type);
  if (result == NULL) return NULL;
  const double values[] = {stats.total_s, stats.self_s, stats.min_s, stats.max_s, stats.mean_s,
                           stats.stdev_s, stats.p50_s,  stats.p90_s, stats.p99_s};
  PyStructSequence_SetItem(result, 0, PyLong_FromUnsignedLongLong(stats.count));
  for (int i = 0; i < 9; ++i) {
    PyStructSequence_SetItem(result, i + 1, PyFloat_FromDouble(values[i]));
  }
  if (PyErr_Occurred()) Py_CLEAR(result);
  return result;
}

static PyObject* ModuleDrops(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  const struct headroom_drops drops = headroom_drops_now();
  PyObject* result = PyStructSequence_New(drops_type);
  if (result == NULL) return NULL;
  const uint64_t values[] = {drops.ring,  drops.threads,   drops.depth,
                             drops.names, drops.unmatched, drops.statistics};
  for (int i = 0; i < 6; ++i) {
    PyStructSequence_SetItem(result, i, PyLong_FromUnsignedLongLong(values[i]));
  }
  if (PyErr_Occurred()) Py_CLEAR(result);
  return result;
}

static PyObject* ModuleKeys(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  PyObject* list = PyList_New(0);
  if (list == NULL || !headroom_enabled()) return list;
  struct headroom_impl_state* state = &headroom_impl_state_v1;
  const uint32_t names = HEADROOM_IMPL_GET(state->shared->names);
  for (uint32_t id = 2; id < names; ++id) {  // 0: None; 1: keys beyond the limit.
    const struct headroom_name* name = headroom_names_of(state->shared) + id;
    const char* text = headroom_text_of(state->shared) + name->offset;
    PyObject* key = PyUnicode_DecodeUTF8(text, name->length, "replace");
    const int bad = key == NULL || PyList_Append(list, key) != 0;
    Py_XDECREF(key);
    if (bad) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

static PyObject* ModuleEnable(PyObject* module, PyObject* args, PyObject* kwargs) {
  (void)module;
  static char* names[] = {"on", NULL};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:enable", names, &on)) return NULL;
  headroom_enable(on);
  return NewNone();
}

static PyObject* ModuleEnabled(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyBool_FromLong(headroom_enabled());
}

static PyObject* ModuleRecorded(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyBool_FromLong(headroom_recorded());
}

static PyObject* ModuleHelper(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  headroom_helper();
  return NewNone();
}

#define WITH_KEYWORDS(function) \
  (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef module_methods[] = {
    {"begin", ModuleBegin, METH_O,
     "begin(key, /)\n--\n\nBegins a region on the calling thread and returns the token for end(). "
     "For regions that do not fit a `with` block; they may overlap. Returns 0 if nothing is "
     "collected."},
    {"end", ModuleEnd, METH_O,
     "end(token, /)\n--\n\nEnds a region of begin(), on the same thread; 0 does nothing. A token "
     "without an open region only counts in drops().unmatched."},
    {"abandon", ModuleAbandon, METH_O,
     "abandon(token, /)\n--\n\nCloses a region that was left open, without counting it in the "
     "statistics."},
    {"step", WITH_KEYWORDS(ModuleStep),
     "step(number=None)\n--\n\nA training step, for `with` or as a decorator; its key is \"STEP\". "
     "number: at least 0; None: one more than the last, at each entry."},
    {"begin_step", ModuleBeginStep, METH_NOARGS,
     "begin_step()\n--\n\nBegins the next step for a tool; user_steps() does not count it."},
    {"cancel_step", ModuleCancelStep, METH_O,
     "cancel_step(token, /)\n--\n\nEnds a step of begin_step() that turned out to be empty. Sets "
     "the mark \"step.empty\"; the next step reuses the number."},
    {"user_steps", ModuleUserSteps, METH_NOARGS,
     "user_steps()\n--\n\nReturns how often the program entered a step(). If it marks its steps, "
     "tools do not."},
    {"mark", ModuleMark, METH_O, "mark(key, /)\n--\n\nMarks a moment in a recording."},
    {"counter", ModuleCounter, METH_VARARGS,
     "counter(key, value, /)\n--\n\nRecords a sampled value; the key should name its unit."},
    {"gradient", ModuleGradient, METH_VARARGS,
     "gradient(parameter, bytes, /)\n--\n\nRecords that the gradient of a parameter, of this many "
     "bytes, is ready to be sent to other ranks."},
    {"stats", WITH_KEYWORDS(ModuleStats),
     "stats(key=\"ALL\")\n--\n\nReturns the statistics of a key over all threads of this process, "
     "including ended threads. All are 0 if the key never began. \"ALL\": of all keys together."},
    {"drops", ModuleDrops, METH_NOARGS,
     "drops()\n--\n\nReturns the numbers of dropped events and regions by cause; normally all 0."},
    {"keys", ModuleKeys, METH_NOARGS,
     "keys()\n--\n\nReturns all keys used so far in this process, including marks and counters, "
     "oldest first."},
    {"enable", WITH_KEYWORDS(ModuleEnable),
     "enable(on=True)\n--\n\nStops or resumes collecting. HEADROOM=0 in the environment takes "
     "precedence."},
    {"enabled", ModuleEnabled, METH_NOARGS,
     "enabled()\n--\n\nReturns True if regions are collected."},
    {"recorded", ModuleRecorded, METH_NOARGS,
     "recorded()\n--\n\nReturns True if events go to a recording (`headroom record`)."},
    {"helper", ModuleHelper, METH_NOARGS,
     "helper()\n--\n\nMarks this process as a worker of its parent: a recording keeps its events "
     "in the parent's file."},
    {"sample_stacks", StacksStart, METH_VARARGS,
     "sample_stacks(hz, name_of, signal, /)\n--\n\nSamples the main thread's stack into the "
     "recording, hz times a second. Call it on that thread. name_of(code, line) returns the name "
     "of "
     "a frame, or None to leave it out. signal: one whose handler does nothing, for Python before "
     "3.13; else 0. Returns False if nothing is recorded, or if this process already samples."},
    {"stop_stacks", StacksStop, METH_NOARGS,
     "stop_stacks()\n--\n\nEnds the sampling; the interpreter must not end before."},
    {NULL, NULL, 0, NULL}};

static PyStructSequence_Field stats_fields[] = {
    {"count", "regions that ended"},
    {"total_s", "seconds during which at least one was open, counted once per thread"},
    {"self_s", "seconds without nested regions"},
    {"min_s", "seconds: the shortest region"},
    {"max_s", "seconds: the longest region"},
    {"mean_s", "seconds"},
    {"stdev_s", "seconds: sample deviation (n - 1); 0 for fewer than two regions"},
    {"p50_s", "seconds: the median; error at most 3.2 %, as in p90_s and p99_s"},
    {"p90_s", "seconds"},
    {"p99_s", "seconds"},
    {NULL, NULL}};

static PyStructSequence_Desc stats_desc = {
    "headroom.Stats", "Statistics of the regions of a key; times are seconds.", stats_fields, 10};

static PyStructSequence_Field drops_fields[] = {
    {"ring", "events lost because the recorder was too slow; statistics include them"},
    {"threads", "threads beyond 128 at once; their events are lost, not their statistics"},
    {"depth", "regions nested deeper than 256; their events and statistics are lost"},
    {"names", "uses of keys beyond the 65,000th distinct key"},
    {"unmatched", "ends of regions that are not open on the calling thread"},
    {"statistics", "regions of keys beyond the 16,383rd; their statistics are lost"},
    {NULL, NULL}};

static PyStructSequence_Desc drops_desc = {
    "headroom.Drops", "Events and regions lost since the program began.", drops_fields, 6};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "_timer",
                                        "The region timer. Private: use `headroom`.",
                                        -1,
                                        module_methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static int Add(PyObject* module, const char* name, PyTypeObject* type) {
  if (type == NULL) return -1;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, (PyObject*)type) == 0) return 0;
  Py_DECREF(type);
  return -1;
}

PyMODINIT_FUNC PyInit__timer(void) {  // NOLINT(readability-identifier-naming): Python's.
  PyObject* module = PyModule_Create(&module_def);
  if (module == NULL || PyModule_AddStringConstant(module, "__version__", HEADROOM_VERSION) != 0) {
    Py_XDECREF(module);
    return NULL;
  }
  scope_type = (PyTypeObject*)PyType_FromSpec(&scope_spec);
  stats_type = PyStructSequence_NewType(&stats_desc);
  drops_type = PyStructSequence_NewType(&drops_desc);
  if (Add(module, "Scope", scope_type) != 0 || Add(module, "scope", scope_type) != 0 ||
      Add(module, "Stats", stats_type) != 0 || Add(module, "Drops", drops_type) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  pthread_atfork(NULL, NULL, InChild);
  return module;
}
