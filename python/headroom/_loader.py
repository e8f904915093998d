"""Regions and counters of PyTorch's DataLoader: the work of its workers, and how many batches they are ahead of the
loop. Private.

headroom._patches installs it with the other patches. Patches methods of classes: PyTorch's, those of transforms, and
PIL's decoder. Objects in the loop's process stay unchanged, because the program may pickle them or inspect their types.
A worker has its own copy of the dataset. There the functions of the dataset and of libraries that read files are
patched too. A worker's events go into the file of the process that started it. Errors in here must not reach the
program.

Regions of the thread that prepares a batch:
- `loader.index_wait`: a worker has nothing to do.
- `loader.batch`: one batch. It contains `loader.sample` for each `dataset[i]`, and `loader.collate`.
- `stage::<name>`: one stage of a sample.
- `loader.send`: on the worker's thread that serializes batches.
- `loader.pin`: on the thread that copies batches to pinned memory.

Counters of a batch, set when it is prepared:
- `loader.batch_samples`.
- `loader.batch_thread_cpu_us`: CPU time of the preparing thread.
- `..._runqueue_us`: time in which the thread was ready to run but no core was free.
- `..._cpu_us`: CPU time of the whole process since the previous batch.
- `..._read_bytes` (read from storage) and `..._rchar` (read by calls).
- `..._bytes` and `..._objects`: size and number of tensors and arrays.
- `loader.stage_cpu_us <stage>`: CPU time without nested stages, scaled up from one sample in 7.

Counters of a fetch:
- `loader.ready`: batches that were ready.
- `loader.step_cpu_us`: CPU time of the process since the previous fetch.
- `..._runqueue_us`: of the calling thread, since the previous fetch.
- `loader.next_cpu_us` and `..._runqueue_us`: of the calling thread, in this fetch.

Counters of a loader, set when the program makes an iterator: `setting.loader.seed` (identifies the iterator; its
workers record it too), `...cpus`, `...threads_per_core`, `...virtual_machine`, `...shared_memory_bytes`, `...workers`,
`...prefetch_factor`, `...batch_size`, `...pin_memory`, `...persistent_workers`, `...dataset_size`. A recording of only
some steps keeps counters with the prefix `setting.`.
"""

from __future__ import annotations

import collections.abc
import functools
import os
import sys
import threading
import time
import types
import weakref
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Set, Tuple

from headroom import _timer

Function = Callable[..., Any]
Maker = Callable[[Any], Any]  # Takes the original, returns its replacement.
Replace = Callable[[Any, str, Maker], None]  # replace() of headroom._patches.

BATCH = _timer.Scope("loader.batch")
SAMPLE = _timer.Scope("loader.sample")
COLLATE = _timer.Scope("loader.collate")
INDEX_WAIT = _timer.Scope("loader.index_wait")
SEND = _timer.Scope("loader.send")
PIN = _timer.Scope("loader.pin")

counter, end, mark = _timer.counter, _timer.end, _timer.mark
thread_time, process_time = time.thread_time_ns, time.process_time_ns

# Functions that read or decode, as programs call them: module and name.
READERS = (
    ("PIL.Image", "open"),
    ("cv2", "imread"),
    ("cv2", "imdecode"),
    ("numpy", "load"),
    ("soundfile", "read"),
    ("torchaudio", "load"),
    ("torchvision.io", "decode_image"),
    ("torchvision.io", "decode_jpeg"),
    ("torchvision.io", "read_file"),
    ("torchvision.io", "read_image"),
)
DECODER = "stage::PIL.decode"
# Attributes of a dataset that hold a single stage.
STAGE_ATTRIBUTES = ("transform", "target_transform", "loader")
# Reading a thread's CPU time makes the kernel update the thread's account. If its time slice is over, the kernel then
# preempts the thread at once. Reading the time around every stage would therefore add time of other threads to the
# stages.
CPU_EVERY = 7  # Not a power of two: batch sizes often are, and data may repeat with that period.
MOST_OBJECTS = (
    2000  # Per batch. With more objects, counting would take too long, so their number and size are not recorded.
)
MOST_FAILURES = 20  # Maximum number to record: each failure adds a distinct text to the recording.
SEED_MASK = (1 << 52) - 1  # Integers that a double represents exactly.

stages: Dict[int, _timer.Scope] = {}  # id(transform) -> Scope, for transforms found in datasets.
_kept: Dict[int, Any] = {}  # id -> transform, weak if possible. Prevents reuse of an id while it is a key.
_timed_classes: Set[type] = set()


class _Local(threading.local):
    failed: Optional[str] = None  # Innermost stage that the current exception left.
    inside = 0  # CPU time in ns, so far, of the stages nested in the running stage.
    samples = 0  # Samples so far. One in CPU_EVERY measures the CPU time of each stage.
    measures = False

    def __init__(self) -> None:
        self.stage_cpu: Dict[str, int] = {}  # By stage: CPU time in ns in this batch, without nested stages.
        self.preparer: Optional[_Preparer] = None


_local = _Local()
_silent: Set[str] = set()  # Stages that returned None; each is reported once.
_failures = 0


# --- stages ---


def _call_stage(scope: _timer.Scope, function: Function, *args: Any, **kwargs: Any) -> Any:
    local = _local
    measures = local.measures
    if measures:
        outer, local.inside = local.inside, 0
        cpu = thread_time()
    token = scope.begin()
    try:
        result = function(*args, **kwargs)
    except BaseException:
        if local.failed is None:
            local.failed = scope.key
        raise
    finally:
        end(token)
        if measures:
            spent = thread_time() - cpu
            local.stage_cpu[scope.key] = local.stage_cpu.get(scope.key, 0) + spent - local.inside
            local.inside = outer + spent
    if result is None and scope.key not in _silent:
        _silent.add(scope.key)
        mark(f"loader.nothing_returned {scope.key}")
    return result


def _timed_call(original: Function) -> Function:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = stages.get(id(self))
        if scope is None or scope.is_open():  # A class may call the inherited __call__.
            return original(self, *args, **kwargs)
        return _call_stage(scope, original, self, *args, **kwargs)

    return __call__


def _timed_function(function: Function, scope: _timer.Scope) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _call_stage(scope, function, *args, **kwargs)

    call._headroom_stage = True  # type: ignore[attr-defined]
    return call


def _keep(stage: Any, scope: _timer.Scope) -> None:
    key = id(stage)
    stages[key] = scope
    try:
        _kept[key] = weakref.ref(stage, lambda _: (stages.pop(key, None), _kept.pop(key, None)))
    except TypeError:
        _kept[key] = stage


def _name_of(stage: Any) -> str:
    for owner in (stage, getattr(stage, "func", None)):  # functools.partial
        name = getattr(owner, "__qualname__", None)
        if isinstance(name, str):
            return name
    return type(stage).__name__


def _composed(stage: Any) -> Any:
    """Returns the stages that a composed transform (Compose, Sequential, ...) holds; None: it is a single stage."""
    parts: Any = getattr(stage, "transforms", None)
    if parts is None and type(stage).__name__ in ("Sequential", "ModuleList"):
        parts = list(stage)
    if isinstance(parts, (list, tuple)) or type(parts).__name__ in ("ModuleList", "Sequential"):
        return parts if len(parts) > 0 and all(callable(part) for part in parts) else None
    return None


class _Finder:
    """Finds the stages of a dataset: through its attributes, nested datasets and composed transforms."""

    DEEPEST = 6
    MOST_PARTS = 64  # In one list: a dataset's own data may be a list.

    def __init__(self, torch: Any, replace: Replace, in_worker: bool) -> None:
        self.torch, self.replace, self.in_worker = torch, replace, in_worker
        self.seen: Set[int] = set()
        self.names: Dict[str, int] = {}

    def of_dataset(self, dataset: Any, depth: int = 0) -> None:
        if depth > self.DEEPEST or id(dataset) in self.seen or not hasattr(dataset, "__dict__"):
            return
        self.seen.add(id(dataset))
        for name, value in list(vars(dataset).items()):
            try:
                self.of_attribute(dataset, name, value, depth)
            except Exception:  # An object that raises when it is inspected. The search continues with the others.
                pass

    def of_attribute(self, dataset: Any, name: str, value: Any, depth: int) -> None:
        if isinstance(value, self.torch.utils.data.Dataset):
            self.of_dataset(value, depth + 1)
        elif name == "datasets" and isinstance(value, (list, tuple)):
            for part in value[: self.MOST_PARTS]:
                self.of_dataset(part, depth + 1)
        elif _composed(value) is not None:
            self.of_composed(value)
        elif name in STAGE_ATTRIBUTES and callable(value):
            self.of_stage(value, functools.partial(setattr, dataset, name))
        elif type(value).__name__ == "StandardTransform":  # torchvision's pair of transform and target_transform.
            self.of_dataset(value, depth + 1)

    def of_composed(self, stage: Any) -> None:
        if id(stage) in self.seen:
            return
        self.seen.add(id(stage))
        parts = _composed(stage)
        for i, part in enumerate(parts[: self.MOST_PARTS] if isinstance(parts, (list, tuple)) else parts):
            if _composed(part) is not None:
                self.of_composed(part)
            else:
                self.of_stage(part, functools.partial(parts.__setitem__, i) if isinstance(parts, list) else None)

    def of_stage(self, stage: Any, put: Optional[Callable[[Any], Any]]) -> None:
        if id(stage) in self.seen or getattr(stage, "_headroom_stage", False):
            return
        self.seen.add(id(stage))
        name = _name_of(stage)
        count = self.names[name] = self.names.get(name, 0) + 1
        if id(stage) in stages:  # Found in an earlier epoch.
            return
        scope = _timer.Scope(f"stage::{name}" if count == 1 else f"stage::{name} ({count})")
        cls = type(stage)
        if isinstance(
            stage, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
        ):
            # A function, or a class used as a stage, has no class of its own to patch. In the loop's own process the
            # objects belong to the program and stay unchanged.
            if self.in_worker and put is not None:
                put(_timed_function(stage, scope))
            return
        if not isinstance(stage, self.torch.nn.Module) and cls not in _timed_classes:
            try:
                self.replace(cls, "__call__", _timed_call)
            except TypeError:  # A class written in C.
                return
            _timed_classes.add(cls)
        _keep(stage, scope)


def reader_keys() -> List[str]:
    """Returns the keys under which readers and decoders are timed."""
    return [f"stage::{module}.{name}" for module, name in READERS] + [DECODER]


def _time_readers(replace: Replace) -> None:
    for module_name, name in READERS:
        module = sys.modules.get(module_name)
        function = getattr(module, name, None)
        if function is None or hasattr(function, "_headroom_stage"):
            continue
        scope = _timer.Scope(f"stage::{module_name}.{name}")

        def make(original: Function, scope: _timer.Scope = scope) -> Function:
            @functools.wraps(original)
            def call(*args: Any, **kwargs: Any) -> Any:
                if not SAMPLE.is_open():  # A call outside the loader's samples.
                    return original(*args, **kwargs)
                return _call_stage(scope, original, *args, **kwargs)

            call._headroom_stage = True  # type: ignore[attr-defined]
            return call

        replace(module, name, make)


def _time_decoder(replace: Replace) -> None:
    """Times PIL's decoder, a method that callers look up on the class."""
    if "PIL.Image" not in sys.modules:
        return
    from PIL import ImageFile  # Imported here: PIL loads it with the first image, which is too late.

    if hasattr(ImageFile.ImageFile.load, "_headroom_stage"):
        return
    decode = _timer.Scope(DECODER)

    def make_load(original: Function) -> Function:
        @functools.wraps(original)
        def load(self: Any) -> Any:
            if (
                not getattr(self, "tile", None) or not SAMPLE.is_open()
            ):  # Every operation on an image calls load(); only the first call decodes.
                return original(self)
            return _call_stage(decode, original, self)

        load._headroom_stage = True  # type: ignore[attr-defined]
        return load

    replace(ImageFile.ImageFile, "load", make_load)


# --- samples and batches ---


def _begin_sample() -> int:
    local = _local
    local.samples += 1
    local.measures = local.samples % CPU_EVERY == 0
    local.failed = None
    return SAMPLE.begin()


def _end_sample(token: int) -> None:
    _local.measures = False
    end(token)


def _tell_failure(sample: Any) -> None:
    """Records the exception's class, sample and stage. Never records its message, or an index that is a string, because
    both may contain the program's data.
    """
    global _failures
    stage, _local.failed = _local.failed, None
    _failures += 1
    if _failures > MOST_FAILURES:
        return
    which = f"sample {sample}" if type(sample) is int else "a sample"
    mark(f"loader.failed {which}{f' in {stage}' if stage else ''}: {_exception_name()}")


def _exception_name() -> str:
    """Returns the class name of the exception that is being handled."""
    cls = sys.exc_info()[0]
    return cls.__name__ if cls is not None else "unknown"


class _TimedDataset:
    """Replaces the dataset inside a fetcher: gives the same samples, timed. Users still see their own dataset."""

    def __init__(self, dataset: Any, subset: Any) -> None:
        self._dataset = dataset
        inner = dataset
        while type(inner) is subset:  # A Subset passes indices on one at a time unless its dataset has __getitems__.
            inner = inner.dataset
        if callable(getattr(inner, "__getitems__", None)):
            self.__getitems__ = self._get_many

    def __getitem__(self, index: Any) -> Any:
        token = _begin_sample()
        try:
            return self._dataset[index]
        except BaseException:
            _tell_failure(index)
            raise
        finally:
            _end_sample(token)

    def _get_many(self, indices: Any) -> Any:
        token = _begin_sample()
        try:
            return self._dataset.__getitems__(indices)
        except BaseException:
            _tell_failure(None)
            raise
        finally:
            _end_sample(token)

    def __len__(self) -> int:
        return len(self._dataset)

    def __getattr__(self, name: str) -> Any:
        if name == "__getitems__":  # Set as an attribute if the dataset supports it, else absent.
            raise AttributeError(name)
        return getattr(self._dataset, name)


class _TimedSamples:
    """The same as _TimedDataset, for the iterator of an iterable dataset."""

    def __init__(self, samples: Any) -> None:
        self._samples = samples
        self._count = 0

    def __iter__(self) -> _TimedSamples:
        return self

    def __next__(self) -> Any:
        token = _begin_sample()
        try:
            sample = next(self._samples)
        except StopIteration:
            raise
        except BaseException:
            _tell_failure(self._count)
            raise
        finally:
            _end_sample(token)
        self._count += 1
        return sample


def _timed_collate(collate: Function) -> Function:
    @functools.wraps(collate)
    def call(*args: Any, **kwargs: Any) -> Any:
        token = COLLATE.begin()
        try:
            return collate(*args, **kwargs)
        finally:
            end(token)

    return call


class _Proc:
    """A /proc file that is read repeatedly, with one system call per read."""

    def __init__(self, path: str) -> None:
        self._file: Optional[int]
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None
        self._path = path

    def read(self) -> List[bytes]:
        """Returns the fields of the file, or an empty list if it is unreadable: a program may close all descriptors
        that it did not open.
        """
        if self._file is None:
            return []
        try:
            return os.pread(self._file, 512, 0).split()
        except OSError:
            self._file = None
            return []

    def __del__(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            try:
                if os.readlink(f"/proc/self/fd/{file}").startswith("/proc/"):  # Still our file.
                    os.close(file)
            except OSError:
                pass


def _queued(schedule: _Proc) -> Optional[int]:
    """Returns the time in ns in which the thread was ready to run without a core, from its file `schedstat`; None: the
    kernel does not record it.
    """
    fields = schedule.read()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None


class _Preparer:
    """CPU time, run-queue delay and reads of a thread that prepares batches."""

    queued: Optional[int]  # `queued` and `cpu`: values at begin(), in ns.
    cpu: int

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.schedule = _Proc(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self.io = _Proc("/proc/self/io")
        self.process_cpu = process_time()
        self.read_io = self._io()

    def _io(self) -> Optional[Tuple[int, int]]:
        fields = self.io.read()
        try:
            return int(fields[1]), int(fields[9])  # rchar, read_bytes
        except (IndexError, ValueError):
            return None

    def begin(self) -> None:
        _local.stage_cpu.clear()
        self.queued, self.cpu = _queued(self.schedule), thread_time()

    def end(self) -> None:
        counter("loader.batch_thread_cpu_us", (thread_time() - self.cpu) / 1e3)
        queued = _queued(self.schedule)
        if queued is not None and self.queued is not None:
            counter("loader.batch_runqueue_us", (queued - self.queued) / 1e3)
        cpu = process_time()
        counter("loader.batch_cpu_us", (cpu - self.process_cpu) / 1e3)
        self.process_cpu = cpu
        read_io = self._io()
        if read_io is not None and self.read_io is not None:
            counter("loader.batch_rchar", read_io[0] - self.read_io[0])
            counter("loader.batch_read_bytes", read_io[1] - self.read_io[1])
        self.read_io = read_io
        for stage, spent in _local.stage_cpu.items():
            counter(f"loader.stage_cpu_us {stage}", spent * CPU_EVERY / 1e3)
        _local.stage_cpu.clear()


def _preparer_here() -> _Preparer:
    preparer = _local.preparer
    if preparer is None or preparer.pid != os.getpid():
        preparer = _local.preparer = _Preparer()
    return preparer


def _queued_here() -> Optional[int]:
    return _queued(_preparer_here().schedule)


def _measure(batch: Any) -> Optional[Tuple[int, int]]:
    """Returns the bytes and the number of tensors and arrays in a batch of any structure; None: more parts than
    MOST_OBJECTS.
    """
    size = count = visited = 0
    waiting = [batch]
    while waiting:
        visited += 1
        if visited + len(waiting) > MOST_OBJECTS:
            return None
        item = waiting.pop()
        if isinstance(item, collections.abc.Mapping):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            if item and isinstance(item[0], (int, float, str, bytes, bool)):
                count += len(item)  # Numbers such as labels: each crosses the queue separately.
            else:
                waiting.extend(item)
        else:
            count += 1
            nbytes = getattr(item, "nbytes", None)  # numpy arrays, and tensors since PyTorch 2.1.
            if nbytes is None and hasattr(item, "element_size"):
                nbytes = item.element_size() * item.nelement()
            if isinstance(nbytes, int):
                size += nbytes
    return size, count


def _make_fetch(original: Function) -> Function:
    @functools.wraps(original)
    def fetch(self: Any, index: Any) -> Any:
        place, timed = getattr(self, "_headroom_timed", (None, None))
        preparer: Optional[_Preparer]
        try:
            preparer = _preparer_here()
            preparer.begin()
        except Exception:
            preparer = None
        token = BATCH.begin()
        # Replaced only during the call, so that other code sees the fetcher's real dataset.
        real = None if place is None else getattr(self, place)
        if place is not None:
            setattr(self, place, timed)
        try:
            batch = original(self, index)
        finally:
            if place is not None:
                setattr(self, place, real)
            end(token)
        try:
            _tell_batch(preparer, index, batch)
        except Exception:
            pass
        return batch

    return fetch


def _tell_batch(preparer: Optional[_Preparer], index: Any, batch: Any) -> None:
    if preparer is not None:
        preparer.end()
    counter("loader.batch_samples", len(index) if isinstance(index, (list, tuple)) else 1)
    measured = _measure(batch)
    if measured is not None:
        counter("loader.batch_bytes", measured[0])
        counter("loader.batch_objects", measured[1])


# --- the worker ---


class _IndexQueue:
    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def get(self, *args: Any, **kwargs: Any) -> Any:
        token = INDEX_WAIT.begin()
        try:
            return self._queue.get(*args, **kwargs)
        finally:
            end(token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _TimedPickler:
    """Replaces, in a worker, the class with which the queue's thread serializes batches."""

    def __init__(self, pickler: Any) -> None:
        self.loads = pickler.loads
        self._dumps = pickler.dumps

    def dumps(self, *args: Any, **kwargs: Any) -> Any:
        token = SEND.begin()
        try:
            return self._dumps(*args, **kwargs)
        finally:
            end(token)


def _make_worker_loop(original: Function) -> Function:
    @functools.wraps(original)
    def _worker_loop(dataset_kind: Any, dataset: Any, index_queue: Any, *rest: Any, **kwargs: Any) -> Any:
        try:
            _timer.helper()
            import multiprocessing.queues

            queues: Any = multiprocessing.queues
            queues._ForkingPickler = _TimedPickler(queues._ForkingPickler)
            index_queue = _IndexQueue(index_queue)
        except Exception:  # The loader must work even if this failed halfway.
            pass
        return original(dataset_kind, dataset, index_queue, *rest, **kwargs)

    return _worker_loop


def _make_create_fetcher(torch: Any, replace: Replace) -> Maker:
    def make(original: Function) -> Any:
        def create_fetcher(
            kind: Any, dataset: Any, auto_collation: Any, collate_fn: Function, *args: Any, **kwargs: Any
        ) -> Any:
            fetcher = original(kind, dataset, auto_collation, _timed_collate(collate_fn), *args, **kwargs)
            try:
                info = torch.utils.data.get_worker_info()
                if info is not None:
                    _timer.helper()  # Loaders of other libraries have their own worker loops.
                    counter("setting.loader.seed", (info.seed - info.id) & SEED_MASK)
                if hasattr(fetcher, "dataset_iter"):
                    fetcher._headroom_timed = ("dataset_iter", _TimedSamples(fetcher.dataset_iter))
                else:
                    fetcher._headroom_timed = ("dataset", _TimedDataset(dataset, torch.utils.data.Subset))
                _time_decoder(replace)
                if info is not None:
                    _time_readers(replace)
                _Finder(torch, replace, info is not None).of_dataset(dataset)
            except Exception:  # A dataset that does not support inspection.
                pass
            return fetcher

        return staticmethod(functools.wraps(original)(create_fetcher))

    return make


def _make_pin(original: Function) -> Function:
    @functools.wraps(original)
    def pin_memory(*args: Any, **kwargs: Any) -> Any:
        token = PIN.begin_outermost()
        try:
            return original(*args, **kwargs)
        finally:
            end(token)

    return pin_memory


# --- the loop's side ---


def _make_iterator_init(original: Function) -> Function:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        original(self, loader, *args, **kwargs)
        try:
            _tell_settings(self, loader)
        except Exception:
            pass

    return __init__


@functools.lru_cache(1)
def _threads_per_core(cpus: FrozenSet[int]) -> Optional[float]:
    """Returns the number of hardware threads per core among the CPUs of this process; None: the machine does not expose
    it.
    """
    siblings = set()
    for cpu in cpus:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
                siblings.add(file.read())
        except OSError:
            return None
    return len(cpus) / len(siblings) if siblings else None


@functools.lru_cache(1)
def _is_virtual() -> bool:
    try:
        with open("/proc/cpuinfo") as file:
            return any(line.startswith("flags") and " hypervisor" in line for line in file)
    except OSError:
        return False


def shared_memory() -> int:
    """Returns the free bytes of /dev/shm, through which workers send tensors; containers often have 64 MB."""
    free = os.statvfs("/dev/shm")
    return free.f_bavail * free.f_frsize


def _tell_settings(iterator: Any, loader: Any) -> None:
    global _fetching
    _fetching = None  # The next fetch records again which iterator it belongs to.
    # A loader with persistent workers owns its iterator, so only a weak reference is safe. Any other loader may be
    # deleted right after this call.
    iterator._headroom_loader = weakref.ref(loader) if loader.persistent_workers else lambda: loader
    counter("setting.loader.seed", iterator._base_seed & SEED_MASK)
    iterator._headroom_queued = _queued_here()
    iterator._headroom_cpu = process_time()
    counter("setting.loader.workers", iterator._num_workers)
    cpus = frozenset(os.sched_getaffinity(0))
    counter("setting.loader.cpus", len(cpus))
    threads = _threads_per_core(cpus)
    if threads is not None:
        counter("setting.loader.threads_per_core", threads)
    counter("setting.loader.virtual_machine", _is_virtual())
    if iterator._num_workers > 0:
        counter("setting.loader.prefetch_factor", iterator._prefetch_factor)
    if loader.batch_size is not None:
        counter("setting.loader.batch_size", loader.batch_size)
    counter("setting.loader.pin_memory", bool(iterator._pin_memory))
    counter("setting.loader.persistent_workers", bool(iterator._persistent_workers))
    try:
        counter("setting.loader.dataset_size", len(loader.dataset))
    except (TypeError, NotImplementedError):
        pass
    try:
        counter("setting.loader.shared_memory_bytes", shared_memory())
    except OSError:  # No /dev/shm here.
        pass


_fetching: Optional[int] = None  # Seed of the iterator that was fetched from last.


def before_next(iterator: Any) -> Optional[int]:
    """Called when the loop asks for a batch. Returns the argument for after_next(); None: not measured."""
    try:
        return _before_next(iterator)
    except Exception:
        return None


def _before_next(iterator: Any) -> int:
    global _fetching
    now = process_time()
    seed = iterator._base_seed
    if seed != _fetching:
        _fetching = seed
        counter("setting.loader.seed", seed & SEED_MASK)
    counter("loader.step_cpu_us", (now - iterator._headroom_cpu) / 1e3)
    queued, before = _queued_here(), iterator._headroom_queued
    if queued is not None and before is not None:
        counter("loader.step_runqueue_us", (queued - before) / 1e3)
    iterator._headroom_queued = queued
    if getattr(iterator, "_data_queue", None) is not None:
        counter("loader.ready", ready_batches(iterator))
    return thread_time()


def ready_batches(iterator: Any) -> int:
    """Returns how many prepared batches an iterator with workers holds."""
    ready = sum(len(info) == 2 for info in list(iterator._task_info.values()))
    try:
        handed_over: int = iterator._data_queue.qsize()
        return ready + handed_over
    except NotImplementedError:
        return ready


def after_next(iterator: Any, cpu: Optional[int]) -> None:
    try:
        if cpu is not None:
            _after_next(iterator, cpu)
    except Exception:
        pass


def _after_next(iterator: Any, cpu: int) -> None:
    counter("loader.next_cpu_us", (thread_time() - cpu) / 1e3)
    queued, before = _queued_here(), iterator._headroom_queued
    if queued is not None and before is not None:
        counter("loader.next_runqueue_us", (queued - before) / 1e3)
    iterator._headroom_queued = queued
    iterator._headroom_cpu = process_time()


def on_failure(iterator: Any) -> None:
    """Called when a fetch raises. Records only the kind of exception, because its text may contain the program's data,
    and which workers have exited.
    """
    global _failures
    _failures += 1
    if _failures > MOST_FAILURES:
        return
    for number, process in enumerate(getattr(iterator, "_workers", None) or ()):
        code = process.exitcode
        if code:
            mark(f"loader.worker_died worker {number}: {f'signal {-code}' if code < 0 else f'exit code {code}'}")
    mark(f"loader.raised {_exception_name()}")


def install(torch: Any, replace: Replace) -> None:
    """Patches PyTorch's loaders. `replace`: that of headroom._patches, which undoes the patches."""
    data = torch.utils.data
    fetchers = data._utils.fetch
    for fetcher in (fetchers._MapDatasetFetcher, fetchers._IterableDatasetFetcher):
        replace(fetcher, "fetch", _make_fetch)
    replace(data._DatasetKind, "create_fetcher", _make_create_fetcher(torch, replace))
    replace(data._utils.worker, "_worker_loop", _make_worker_loop)
    replace(data._utils.pin_memory, "pin_memory", _make_pin)
    replace(data.dataloader._BaseDataLoaderIter, "__init__", _make_iterator_init)


def uninstall() -> None:
    """Clears the state that replace() does not restore."""
    stages.clear()
    _kept.clear()
    _silent.clear()
    _timed_classes.clear()
