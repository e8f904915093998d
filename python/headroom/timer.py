"""Timers that a program reads itself, with the interface of the MAELSTROM Timer.

    from headroom.timer import Timer, TimeType      # was: from deep500.utils.timer import Timer, TimeType

    timer = Timer()
    timer.start(TimeType.BATCH)
    ...
    timer.end(TimeType.BATCH)
    timer.get_time_stats(TimeType.BATCH)            # TimeStats(min, mean, median, max, stdev), seconds

Keys are those of TimeType or any str. Each region is also a `headroom.scope`, so `headroom record` records it. With
`gpu=True`, GPU events on PyTorch's current stream also time a region. A recording has that time as the counter
`<key>_gpu_ms`, at the moment at which it became available. start() and end() never wait for the GPU. They
never raise for an error of the training loop or the GPU. An end without a start, or a start without an end, loses
only that region and warns once. All times are seconds.
"""

from __future__ import annotations

import abc
import collections
import contextlib
import enum
import math
import os
import statistics
import sys
import threading
import time
import warnings
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Set, TextIO, Tuple, Union

from headroom import _timer
from headroom._gpu_events import TorchEvents
from headroom._rank_files import merge, save, write_json

# TimerCallback comes from __getattr__, which flake8 does not see (F822).
__all__ = [  # noqa: F822
    "CPUGPUTimer",
    "CPUGPUTimerBase",
    "TimeStats",
    "TimeType",
    "Timer",
    "TimerCallback",
    "merge",
    "save",
]

KEPT = 65536  # Number of latest times kept per key. Count, mean, extremes and deviation cover all times.
MOST_NESTED = 32  # Open regions of one key per thread. More means that exceptions skipped their ends.

# Determined's names for the same regions. A query accepts either name.
ALIASES = {"dataloader_next": "IO", "train_batch": "BATCH", "train_batch.backward": "BACKWARD"}
_OTHER_NAMES = {**ALIASES, **{ours: theirs for theirs, ours in ALIASES.items()}}


class TimeType(enum.Enum):
    """The predefined keys; any str is a key too. ALL is for queries only."""

    EPOCH = enum.auto()
    BATCH = enum.auto()
    FORWARD = enum.auto()
    BACKWARD = enum.auto()
    COMM = enum.auto()
    IO = enum.auto()
    OTHER = enum.auto()
    ALL = enum.auto()


Key = Union[TimeType, str]


class TimeStats(NamedTuple):
    """Statistics of times, in seconds. `stdev` is the sample deviation (n - 1), 0 for fewer than two times."""

    min: float
    mean: float
    median: float
    max: float
    stdev: float

    def __str__(self) -> str:
        return " ".join(f"{name}: {value:.5f}" for name, value in self._asdict().items())


class _TimerImpl(abc.ABC):
    """A clock. If its times are available only later, it also has ready(end), which does not wait, and wait(end).

    start() and end() may return None: this region is not timed.
    """

    @abc.abstractmethod
    def start(self) -> Any:
        """Returns the start of a region."""

    @abc.abstractmethod
    def end(self) -> Any:
        """Returns the end of a region."""

    @abc.abstractmethod
    def get_time(self, start: Any, end: Any) -> float:
        """Returns the seconds between the two."""


class _CPUTimerImpl(_TimerImpl):
    """The host's clock, with the interface of _TimerImpl."""

    def start(self) -> float:
        return time.perf_counter()

    def end(self) -> float:
        return time.perf_counter()

    def get_time(self, start: float, end: float) -> float:
        return end - start


_told: Set[str] = set()


def _tell(what: str) -> None:
    """Warns once per program: a training loop would repeat the warning at every step."""
    if what not in _told:
        _told.add(what)
        warnings.warn(what, RuntimeWarning, stacklevel=3)


def _gpu_impl() -> Union[TorchEvents, _TimerImpl]:
    torch = sys.modules.get("torch")  # A program that uses the GPU through PyTorch has already imported it.
    if torch is not None and torch.cuda.is_available():
        return TorchEvents()
    _tell("headroom.timer: PyTorch finds no usable GPU; gpu=True measures host time instead")
    return _CPUTimerImpl()


class _Times:
    """The times of one key on one clock."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.mean = 0.0
        self.squares = 0.0  # Sum of squared differences from the mean, by Welford's method.
        self.min = float("inf")
        self.max = 0.0
        self.recent: Deque[float] = collections.deque(maxlen=KEPT)

    def add(self, seconds: float) -> None:
        self.count = count = self.count + 1
        self.total += seconds
        off = seconds - self.mean
        self.mean = mean = self.mean + off / count
        self.squares += off * (seconds - mean)
        if seconds < self.min:
            self.min = seconds
        if seconds > self.max:
            self.max = seconds
        self.recent.append(seconds)

    def stats(self) -> TimeStats:
        stdev = (self.squares / (self.count - 1)) ** 0.5 if self.count > 1 else 0.0
        return TimeStats(self.min, self.mean, statistics.median(self.recent), self.max, stdev)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.recent)
        return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]

    def json(self) -> Dict[str, float]:
        stats = self.stats()
        return {
            "count": self.count,
            "total_s": self.total,
            "min_s": stats.min,
            "mean_s": stats.mean,
            "p50_s": stats.median,
            "p90_s": self.percentile(90),
            "p99_s": self.percentile(99),
            "max_s": stats.max,
            "stdev_s": stats.stdev,
        }


class _Clocked:
    """The regions of all keys on one clock."""

    def __init__(self, impl: Any, on_time: Optional[Callable[[str, float], None]] = None) -> None:
        self.impl = impl() if callable(impl) else impl
        self.on_time = on_time  # Called with each time in seconds when it becomes available.
        self.deferred = hasattr(self.impl, "ready")
        self.times: Dict[str, _Times] = {}
        self.pending: Deque[Tuple[str, Any, Any]] = collections.deque()
        self.taken = 0  # Number of regions taken from `pending` so far.
        self.dropped = 0
        self.lock = threading.RLock()
        self.start: Callable[[], Any] = self.impl.start

    def end(self, name: str, start: Any) -> None:
        end = self.impl.end()
        with self.lock:  # Re-entrant: a garbage collection in here may end a region, too.
            if start is None or end is None:
                self.dropped += 1
                self._discard(start, end)
            elif not self.deferred:
                self._add(name, start, end)
            else:
                self.pending.append((name, start, end))
                for _ in range(4):  # More than one time per ended region, so that the queue shrinks.
                    if not self._take():
                        break

    def abandon(self, start: Any) -> None:
        self._discard(start)

    def _discard(self, *moments: Any) -> None:
        if hasattr(self.impl, "discard"):
            for moment in moments:
                if moment is not None:
                    self.impl.discard(moment)

    def _add(self, name: str, start: Any, end: Any) -> None:
        try:
            seconds = self.impl.get_time(start, end)
        except RuntimeError:  # For example, events of two devices.
            self.dropped += 1
        else:
            times = self.times.get(name)
            if times is None:
                times = self.times[name] = _Times()
            times.add(seconds)
            if self.on_time is not None:
                self.on_time(name, seconds)
        self._discard(start, end)

    def _take(self) -> bool:
        try:
            if not self.pending or not self.impl.ready(self.pending[0][2]):
                return False
        except RuntimeError:  # A GPU error, which get_time() reports for this region.
            pass
        self._add_first()
        return True

    def _add_first(self) -> None:
        self.taken += 1
        self._add(*self.pending.popleft())

    def poll(self) -> None:
        with self.lock:
            while self._take():
                pass

    def complete(self) -> None:
        with self.lock:
            goal = self.taken + len(self.pending)  # Regions that other threads end meanwhile do not count.
        while True:
            with self.lock:
                if self.taken >= goal:
                    return
                first = self.pending[0]
            with contextlib.suppress(RuntimeError):  # As in _take().
                self.impl.wait(first[2])  # Without the lock, so that other threads can end regions meanwhile.
            with self.lock:
                if self.pending and self.pending[0] is first:
                    self._add_first()

    def found(self, name: str) -> List[_Times]:
        """Returns the times under a name: none or one; for ALL, those of every key."""
        with self.lock:
            if name == "ALL":
                return list(self.times.values())
            times = self.times.get(name) or self.times.get(_OTHER_NAMES.get(name, ""))
            return [times] if times is not None else []


def _count_on_gpu(name: str, seconds: float) -> None:
    _timer.counter(f"{name}_gpu_ms", seconds * 1e3)


class _Open(NamedTuple):
    token: int
    host: Any
    gpu: Any
    on_gpu: bool


def _name(key: Key) -> str:
    return key.name if isinstance(key, enum.Enum) else str(key)


class Timer:
    """Times regions of code by key, on the host's clock and, with `gpu=True`, on the GPU's.

    timer_impl: the clock, as a class or an object with start(), end() and get_time(start, end); None: the host's.

    All threads may use one timer. A region ends on the thread on which it started. Regions may nest, also of one key,
    and overlap. The timer keeps the last 65,536 times per key, and exact count, mean, extremes and deviation of all
    times. Reading (get_time, statistics, print, save) waits for pending GPU times. The log methods, which run inside
    the loop, use only the times available.
    """

    def __init__(self, timer_impl: Any = None, *, gpu_impl: Any = None) -> None:
        self._host = _Clocked(timer_impl or _CPUTimerImpl)
        self._gpu_impl = gpu_impl
        self._gpu: Optional[_Clocked] = None
        self._two_blocks = False
        self._local = threading.local()
        self._lock = threading.Lock()

    def _gpu_clock(self) -> _Clocked:
        with self._lock:
            if self._gpu is None:
                gpu = _Clocked(self._gpu_impl or _gpu_impl())
                if not isinstance(gpu.impl, _CPUTimerImpl):  # Regions on the host's clock are already recorded.
                    gpu.on_time = _count_on_gpu
                self._gpu = gpu
            return self._gpu

    def _clock(self, gpu: bool) -> Optional[_Clocked]:
        return self._gpu if gpu else self._host

    def _open(self, name: str) -> List[_Open]:
        open_regions: Dict[str, List[_Open]] = self._local.__dict__
        if name not in open_regions:
            open_regions[name] = []
        return open_regions[name]

    @staticmethod
    def _region_name(key: Key) -> str:
        name = _name(key)
        if name == "ALL":
            raise ValueError("ALL means all keys in a query; a region requires another key")
        return name

    def start(self, key: Key, gpu: bool = False) -> None:
        """Begins a region on the calling thread.

        gpu: also measure the GPU's time.
        """
        name = self._region_name(key)
        stack = self._open(name)
        if len(stack) == MOST_NESTED:
            self._abandon(name, stack)
        gpu_start = self._gpu_clock().start() if gpu else None
        token = _timer.begin(name)
        stack.append(_Open(token, self._host.start(), gpu_start, bool(gpu)))

    def _abandon(self, name: str, stack: List[_Open]) -> None:
        _tell(
            f"headroom.timer: regions of {name!r} start but never end; "
            "use `with timer.scope(...)` around code that may raise"
        )
        while stack:
            region = stack.pop()
            _timer.abandon(region.token)
            if region.on_gpu and self._gpu is not None:
                self._gpu.abandon(region.gpu)

    def end(self, key: Key, gpu: bool = False) -> None:
        """Ends the latest region of the key on the calling thread, on every clock that it started on."""
        name = self._region_name(key)
        stack = self._open(name)
        if not stack:
            _tell(f"headroom.timer: end() for {name!r} without start() on this thread; it is not counted")
            return
        region = stack.pop()
        self._host.end(name, region.host)
        _timer.end(region.token)
        if region.on_gpu and self._gpu is not None:
            self._gpu.end(name, region.gpu)
        if region.on_gpu != bool(gpu):
            _tell(f"headroom.timer: start() and end() of {name!r} differ in `gpu`; the value of start() counts")

    @contextlib.contextmanager
    def scope(self, key: Key, gpu: bool = False) -> Iterator[None]:
        """start() and end() around a block. Also ends when an exception leaves the block."""
        self.start(key, gpu=gpu)
        try:
            yield
        finally:
            self.end(key, gpu=gpu)

    @property
    def dropped(self) -> int:
        """Number of regions without a GPU time, because too many were open or the stream was being captured into a
        graph.
        """
        return self._gpu.dropped if self._gpu is not None else 0

    def complete_all(self) -> None:
        """Waits until the times of all ended regions are available."""
        for clock in (self._host, self._gpu):
            if clock is not None:
                clock.complete()

    def get_time(self, key: Key, gpu: bool = False) -> List[float]:
        """Returns the times of a key in seconds, oldest first, at most the last 65,536; ALL: of all keys."""
        clock = self._clock(gpu)
        if clock is None:
            return []
        clock.complete()
        with clock.lock:
            return [seconds for times in clock.found(_name(key)) for seconds in times.recent]

    def get_time_stats(self, key: Key, gpu: bool = False) -> TimeStats:
        """Returns statistics of a key in seconds; ALL: of all keys. Raises ValueError if no region of it has ended."""
        clock = self._clock(gpu)
        found: List[_Times] = []
        if clock is not None:
            clock.complete()
            found = clock.found(_name(key))
        if not found:
            raise ValueError(f"no region of {_name(key)!r} has ended{' on the GPU' if gpu else ''}")
        if len(found) == 1:
            return found[0].stats()
        times = _Times()
        for seconds in self.get_time(key, gpu=gpu):
            times.add(seconds)
        return times.stats()

    def get_percentile(self, key: Key, percent: float, gpu: bool = False) -> float:
        """Returns the time in seconds that `percent` % of the last 65,536 regions of a key do not exceed. Raises
        ValueError if no region has ended.
        """
        ordered = _Times()
        for seconds in self.get_time(key, gpu=gpu):
            ordered.add(seconds)
        if ordered.count == 0:
            raise ValueError(f"no region of {_name(key)!r} has ended{' on the GPU' if gpu else ''}")
        return ordered.percentile(percent)

    # --- output ---

    def _blocks(self) -> List[Tuple[str, _Clocked]]:
        """Returns the clocks to print, each with its heading; a single clock has no heading."""
        if self._gpu is None and not self._two_blocks:
            return [("", self._host)]
        return [("CPU", self._host), ("GPU", self._gpu_clock())]

    def print_all_time_stats(self, file: Optional[TextIO] = None) -> None:
        """Prints the statistics of all keys: two lines for each, and `---` at the end. With GPU times, prints one block
        per clock.
        """
        self.complete_all()
        for heading, clock in self._blocks():
            if heading:
                print(heading, file=file)
            with clock.lock:
                for name, times in clock.times.items():
                    print(name, file=file)
                    print(times.stats(), file=file)
            print("---", file=file)

    def save_all_time_stats(self, filename: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the output of print_all_time_stats() to a new file. Raises FileExistsError if it exists."""
        with open(filename, "x", encoding="utf-8") as file:
            self.print_all_time_stats(file=file)

    def save_json(self, filename: Union[str, "os.PathLike[str]"], rank: Optional[int] = None) -> str:
        """Writes the statistics of all keys for merge(), and returns the file's name. The rank replaces `{rank}` in the
        name.

        rank: rank of this process; None: from torch.distributed or the launcher, else 0. Raises FileExistsError if the
        file exists.
        """
        self.complete_all()
        host, gpu = (
            {name: times.json() for name, times in clock.times.items()} if clock is not None else None
            for clock in (self._host, self._gpu)
        )
        return write_json(filename, rank, host, gpu)

    def _means(self, prefix: str) -> Dict[str, float]:
        if prefix and not prefix.endswith("/"):
            prefix += "/"
        means = {}
        for heading, clock in self._blocks():
            clock.poll()
            with clock.lock:
                for name, times in clock.times.items():
                    means[prefix + (heading + "/" if heading else "") + name] = times.mean
        return means

    def log_wb_all(self, prefix: str = "") -> None:
        """Logs the mean seconds of all keys to Weights & Biases as `prefix/KEY`, or `prefix/CPU/KEY` and
        `prefix/GPU/KEY` with GPU times, and prints them. Raises RuntimeError if wandb is not installed.
        """
        try:
            import wandb
        except ImportError:
            raise RuntimeError("log_wb_all() requires the package wandb, which is not installed") from None
        means = self._means(prefix)
        print(means)
        wandb.log(means)

    def log_mlflow_all(self, prefix: str = "") -> None:
        """Logs the mean seconds of all keys to MLflow, under the names of log_wb_all(). Raises RuntimeError if mlflow
        is not installed.
        """
        try:
            import mlflow
        except ImportError:
            raise RuntimeError("logging to MLflow requires the package mlflow, which is not installed") from None
        mlflow.log_metrics(self._means(prefix))


class CPUGPUTimerBase(Timer):
    """A Timer with two given clocks. Its output always has one block per clock."""

    def __init__(self, cpu_timer_impl: Any = None, gpu_timer_impl: Any = None) -> None:
        super().__init__(cpu_timer_impl, gpu_impl=gpu_timer_impl)
        self._two_blocks = True


class CPUGPUTimer(CPUGPUTimerBase):
    """A Timer on the clocks of the host and the GPU. Its output always has one block per clock."""

    def __init__(self) -> None:
        super().__init__()


def _timer_callback() -> type:
    """Defines the class late, because its base class requires Keras."""
    base: type = object
    for package in ("keras", "tensorflow.keras"):
        module = sys.modules.get(f"{package}.callbacks") or getattr(sys.modules.get(package), "callbacks", None)
        if module is not None:
            base = module.Callback
            break

    class TimerCallback(base):  # type: ignore[misc]
        """Times EPOCH and BATCH of Keras's `Model.fit`: `model.fit(..., callbacks=[TimerCallback(timer)])`.

        timer: a Timer; gpu: also measure the GPU's time of BATCH.
        """

        def __init__(self, timer: Timer, gpu: bool = False) -> None:
            super().__init__()
            self.timer = timer
            self.gpu = gpu

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.timer.start(TimeType.EPOCH)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.timer.end(TimeType.EPOCH)

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.timer.start(TimeType.BATCH, gpu=self.gpu)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.timer.end(TimeType.BATCH, gpu=self.gpu)

    return TimerCallback


def __getattr__(name: str) -> Any:
    if name != "TimerCallback":
        raise AttributeError(f"module 'headroom.timer' has no attribute {name!r}")
    globals()[name] = _timer_callback()
    return globals()[name]
