"""Probes of an input pipeline inside a run: the loop without its loader, and the loader without its loop. Private.

headroom._patches uses it for `headroom record --probe-input`. Probes once: the first loader that feeds a training loop,
after its first WARM_UP batches.

- TURNS times: STEPS normal steps, then STEPS steps that get copies of the last batch and never wait. Both kinds
  alternate, so that a machine that slows down affects both. Each part begins when workers and queue have returned to
  their earlier state or have settled.
- The loader alone: batches in a row, without a step between them.
- The same samples again, from a loader with the same settings. Data read from storage is now in memory.

The program trains on repeated batches and skips as many others, so that an epoch keeps its length if possible. The
trained weights are not usable; the user accepted that with the option. The results go into the recording as counters,
each a mean in microseconds:
- `loader.probe_real_us` and `..._replay_us`: per step, one value per turn.
- `..._alone_us` and `..._again_us`: per batch, GROUPS values.

`loader.probe_other_size` counts batches whose size differs from the repeated batch. Marks `loader.probe begin` and
`loader.probe end` enclose the probe. `loader.probe gave up: ...` gives the reason for missing values.
"""

from __future__ import annotations

import atexit
import copy
import multiprocessing
import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, Generator, Iterator, List, Optional, Tuple

from headroom import _loader, _loader_copies, _timer

Trains = Callable[[Any], Optional[int]]
Fetch = Callable[[Any], Any]

WARM_UP = 10  # Steps. XProf and DS-Analyzer skip the same number.
TURNS, STEPS = 4, 10  # 40 steps of each kind.
MOST_SETTLING = 40  # Steps at the start of a turn.
MOST_TRIES = 10 * STEPS  # Fetches per turn, including fetches that other work disturbs.
GROUPS, FEWEST_IN_GROUP = 5, 8  # Batches of the loader alone.
MOST_SECONDS = 20  # For the loader alone.
MOST_RESTARTS = 8  # Turns that the end of an epoch may cut off.
MOST_FOREIGN = 500  # Fetches of other loaders in a row, without one of the probed loader.
MOST_COPIES = 1 << 30  # Bytes of batches kept for the steps of a turn.

# Variables in which launchers pass the number of ranks.
RANKS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "SLURM_STEP_NUM_TASKS")

current: Optional[Probe] = None  # The probe until it ends; None: not requested.
running = False

counter, mark, clock = _timer.counter, _timer.mark, time.perf_counter
_END = object()


def begin(torch: Any, trains: Trains) -> None:
    """Requests a probe.

    trains(iterator): a number that grows with each update of the calling thread; None: the iterator serves an
    evaluation, or there was no update yet.
    """
    global current
    if multiprocessing.parent_process() is None:  # A worker has no training loop.
        current = Probe(torch, trains)
        atexit.register(_tell_of_none)


def _tell_of_none() -> None:
    if (
        current is not None and not running and multiprocessing.parent_process() is None
    ):  # A spawned worker calls begin() before it has a parent process.
        mark(
            "loader.probe gave up: no PyTorch loader fed a training loop on the loop's own thread "
            "for 10 batches and updates"
        )


def _has_ranks(torch: Any) -> bool:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return True
    if any(name in sys.modules for name in ("horovod", "torch_xla")):
        return True
    return any(os.environ.get(name, "1").strip() not in ("", "0", "1") for name in RANKS)


def _copy(torch: Any, batch: Any) -> Any:
    """Returns a copy that the loop may modify."""
    if isinstance(batch, torch.Tensor):
        again = batch.detach().clone()
        return again.pin_memory() if batch.is_pinned() else again
    if type(batch) in (str, bytes, int, float, bool, type(None)):
        return batch
    if type(batch) in (list, tuple):
        return type(batch)([_copy(torch, part) for part in batch])
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_copy(torch, part) for part in batch))
    if type(batch) is dict:
        return {key: _copy(torch, part) for key, part in batch.items()}
    return copy.deepcopy(batch)


class Probe:
    """State machine over a loop's fetches. A generator, the script, yields the batch for each fetch."""

    loader: weakref.ref[Any]  # The probed loader, once chosen.
    kind: Tuple[Any, ...]  # Properties that identify an equal loader.
    fetch: Fetch  # Valid during the current call, as is `iterator`.

    def __init__(self, torch: Any, trains: Trains) -> None:
        self.torch, self.trains = torch, trains
        # Before the probe begins, by iterator: (fetches after an update, number of updates at the last fetch).
        self.fetches: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.thread: Optional[int] = None
        self.script: Optional[Iterator[Any]] = None
        self.foreign = 0  # Fetches of other loaders since the last fetch of the probed loader.
        self.iterator: Any = None
        # `received` counts batches since the probe began to watch the iterator. The first `unknown` batches were
        # requested earlier; `indices` lists the indices of the later ones.
        self.watched: Optional[weakref.ref[Any]] = None
        self.seen = self.received = self.unknown = 0
        self.indices: List[Any] = []
        self.busy = False  # The script is running.
        self.raised: Optional[BaseException] = None  # The loader's exception inside the script.
        self.disturbed = False  # The step contained other work: an evaluation or another epoch.
        self.repeated = self.withheld = 0  # Numbers of batches.
        self.size: Optional[Tuple[int, int]] = None  # Bytes and number of tensors of the repeated batch.

    def next(self, iterator: Any, fetch: Fetch) -> Any:
        """Replaces fetch(iterator), the iterator's __next__."""
        if self.busy:
            return fetch(iterator)
        try:
            is_served = self._is_served(iterator)
        except Exception as error:  # An error of the probe must not stop the program.
            self._end(type(error).__name__)
            is_served = False
        if not is_served:
            return fetch(iterator)
        self.foreign = 0
        self.iterator, self.fetch, self.busy = iterator, fetch, True
        try:
            self._watch_indices()
            assert self.script is not None  # _is_served() made it.
            batch = next(self.script)
        except BaseException as error:
            is_loaders = error is self.raised or not isinstance(error, Exception)
            self._end(None if is_loaders or isinstance(error, StopIteration) else type(error).__name__)
            if is_loaders:
                raise
            return fetch(iterator)
        finally:
            self.iterator, self.busy = None, False
        if batch is _END:
            raise StopIteration
        return batch

    # --- choice of the loader ---

    def _is_served(self, iterator: Any) -> bool:
        if self.script is None and not self._begins(iterator):
            return False
        if threading.get_ident() == self.thread and self._is_mine(iterator):
            return True
        self.disturbed = True
        self.foreign += 1
        if self.foreign > MOST_FOREIGN:
            self._end("the program no longer uses its loader")
        return False

    def _begins(self, iterator: Any) -> bool:
        global running
        updates = self.trains(iterator)
        count, before = self.fetches.get(iterator, (0, None))
        self.fetches[iterator] = (count + (updates is not None and updates != before), updates)
        if updates is None or updates == before or count < WARM_UP:
            return False
        if _has_ranks(self.torch):  # Ranks must stay in step: an extra step of one rank would block all of them.
            self._end("the program runs on several ranks")
            return False
        loader = iterator._headroom_loader()
        if loader is None:  # Persistent workers keep the iterator alive after the program deleted the loader.
            self._end("the program keeps an iterator without its loader")
            return False
        running = True
        self.loader, self.kind = weakref.ref(loader), self._kind_of(loader)
        self.thread, self.script = threading.get_ident(), self._script()
        mark("loader.probe begin")
        return True

    @staticmethod
    def _kind_of(loader: Any) -> Tuple[Any, ...]:
        return (
            id(loader.dataset),
            loader.batch_size,
            loader.num_workers,
            loader.collate_fn,
            type(loader.sampler),
            type(loader.batch_sampler),
        )

    def _is_mine(self, iterator: Any) -> bool:
        loader, mine = iterator._headroom_loader(), self.loader()
        if mine is not None:
            return loader is mine
        # Programs may create a loader for each epoch.
        if loader is None or self._kind_of(loader) != self.kind or self.trains(iterator) is None:
            return False
        self.loader = weakref.ref(loader)
        return True

    def _end(self, why: Optional[str] = None) -> None:
        global current, running
        self._unwatch()
        if why:
            mark(f"loader.probe gave up: {why}")
        if running:
            mark("loader.probe end")
        running, current = False, None

    # --- the script ---

    def _script(self) -> Generator[Any, None, None]:
        restarts = turns = 0
        level = None
        while turns < TURNS:
            level = yield from self._turn(level)
            if level is None:
                return
            restarts += level is _END
            turns += level is not _END
            if restarts > MOST_RESTARTS:
                mark("loader.probe gave up: an epoch is too short for a turn")
                return
        for last in (False, False, True):
            batch = self._alone(last)
            yield batch
            if batch is not _END:
                return

    def _turn(self, level: Any) -> Generator[Any, None, Any]:
        """Runs normal steps, then steps with copies of the last batch. Yields the batches for the loop.

        Returns the mean number of ready batches in normal steps, _END if the epoch ended early, or None if other work
        disturbs the steps.

        level: result of the previous turn; the queue filled during repetition is drained to this level.
        """
        if isinstance(level, float):
            for _ in range(int(self._ready() - level)):
                self.withheld += 1
                if self._next() is _END:
                    yield _END
                    return _END
        settling, tries = min(MOST_SETTLING, self._ahead() + 2), 0
        self.disturbed, count, ready, begin = False, 0, 0, None
        while True:
            if begin is not None:
                ready += self._ready()
            batch = self._next()
            if batch is _END:
                yield _END
                return _END
            tries += 1
            if tries > settling + MOST_TRIES:
                mark("loader.probe gave up: the program uses other loaders within its steps")
                yield batch
                return None
            if self._is_disturbed():
                begin = None
            if begin is not None:
                count += 1
            elif tries > settling:
                begin, count, ready = self._now(), 0, 0
            if count == STEPS:
                break
            yield batch
        assert begin is not None  # Steps count only after it is set.
        step_us = (self._now() - begin) / STEPS * 1e6
        kept = _copy(self.torch, batch)
        self.size = _loader._measure(kept)
        yield batch
        tries, begin = 0, None
        while True:
            if self._is_disturbed():
                begin = None
            if begin is None and (tries > MOST_SETTLING or (tries > 3 and self._is_settled())):
                # Copies are made outside the measured time. Large batches get fewer steps, to limit the memory for
                # copies.
                bytes_each = max(1, (self.size or (MOST_COPIES, 0))[0])
                steps = max(1, min(STEPS, MOST_COPIES // bytes_each))
                copies = [_copy(self.torch, kept) for _ in range(steps)]
                begin = self._now()
            elif begin is not None and not copies:
                break
            tries += 1
            if tries > MOST_SETTLING + MOST_TRIES:
                mark("loader.probe gave up: the program uses other loaders within its steps")
                return None
            self.repeated += 1
            yield copies.pop() if begin is not None else _copy(self.torch, kept)
        replay_us = (self._now() - begin) / steps * 1e6
        counter("loader.probe_real_us", step_us)
        counter("loader.probe_replay_us", replay_us)
        return ready / STEPS

    def _alone(self, last: bool) -> Any:
        """Drains the iterator, then reads the same samples from a second loader. Returns the last batch, which the loop
        waits for, or _END if the epoch ended early.

        last: accept the batches measured so far.
        """
        ahead, size = self._ahead(), self._group_size()
        timer = _Groups("loader.probe_alone_us", size)
        first, batch = 0, self._next()
        other = 0
        for i in range(ahead + GROUPS * size):
            if batch is _END or timer.is_late():
                break
            if i == ahead:  # All batches that were ready at the start are used up.
                first = self.received
                timer.begin()
            batch = self._next()
            self.withheld += 1
            if i >= ahead and batch is not _END:
                timer.add()
                other += _loader._measure(batch) != self.size
        if batch is _END and not last:
            return _END
        timer.tell()
        if other:
            counter("loader.probe_other_size", other)
        if batch is _END:
            mark(
                "loader.probe gave up: an epoch is too short to measure the loader alone, which requires "
                f"{ahead + 1 + GROUPS * size} batches"
            )
        indices = self.indices[max(0, first - self.unknown) :][: len(timer.means) * size]
        if indices and first >= self.unknown:
            try:
                self._again(indices, ahead, size)
            except Exception as error:
                mark(f"loader.probe gave up: {type(error).__name__} while reading samples again")
        # Keeps the number of steps per epoch equal to a run without a probe.
        while batch is not _END and self.withheld < self.repeated and not timer.is_late():
            batch = self._next()
            self.withheld += 1
        return batch

    def _again(self, indices: List[Any], ahead: int, size: int) -> None:
        """Reads the same samples from a new loader with the same settings. It runs as far ahead as the first loader did
        at the start of its measurement.
        """
        loader = self.iterator._headroom_loader()
        if loader is None or isinstance(loader.dataset, self.torch.utils.data.IterableDataset):
            mark("loader.probe gave up: a stream cannot be read again")
            return
        if (
            loader.num_workers > 0
            and (ahead + loader.num_workers) * (self.size or (0, 0))[0] > _loader.shared_memory() / 2
        ):
            mark("loader.probe gave up: /dev/shm is too small for a second loader")
            return
        timer = _Groups("loader.probe_again_us", size)
        iterator = iter(_loader_copies.of_samples(self.torch, loader, indices[:1] * (ahead + 1) + indices))
        for i, _ in enumerate(iterator):
            if timer.is_late():
                break
            if i == ahead:
                timer.begin()
            elif i > ahead:
                timer.add()
        timer.tell()

    # --- the iterator ---

    def _next(self) -> Any:
        try:
            batch = self.fetch(self.iterator)
        except StopIteration:
            self._unwatch()
            return _END
        except BaseException as error:
            self.raised = error
            raise
        self.received += 1
        return batch

    def _ahead(self) -> int:
        """Returns the maximum number of batches that the workers prepare ahead of the loop."""
        workers: int = self.iterator._num_workers
        each: int = getattr(self.iterator, "_prefetch_factor", None) or 0
        return workers * each

    def _group_size(self) -> int:
        """Returns the batches per group. N workers deliver batches in bursts of N, so a group holds whole bursts."""
        workers: int = max(1, self.iterator._num_workers)
        return workers * -(-FEWEST_IN_GROUP // workers)

    def _ready(self) -> int:
        return _loader.ready_batches(self.iterator) if self.iterator._num_workers > 0 else 0

    def _is_settled(self) -> bool:
        """Returns True if the workers are as far ahead as they may be."""
        return self._ready() >= self._ahead()

    def _is_disturbed(self) -> bool:
        disturbed, self.disturbed = self.disturbed, False
        return disturbed

    def _now(self) -> float:
        """Returns the time after all launched GPU work has finished."""
        cuda = self.torch.cuda
        if cuda.is_available() and cuda.is_initialized():
            cuda.synchronize()
        return clock()

    def _watch_indices(self) -> None:
        """Records the indices of each batch that the iterator requests from now on."""
        iterator = self.iterator
        received = getattr(iterator, "_rcvd_idx", 0)
        if self.watched is not None and self.watched() is iterator and received >= self.seen:
            self.seen = received
            return
        self._unwatch()
        self.disturbed = True
        self.watched, self.seen = weakref.ref(iterator), received
        indices: List[Any] = []
        self.indices, self.received = indices, 0
        self.unknown = getattr(iterator, "_send_idx", 0) - received
        original, me = type(iterator)._next_index, weakref.ref(iterator)  # Weak: avoids a cycle.

        def next_index() -> Any:
            index = original(me())
            indices.append(index)
            return index

        iterator._next_index = next_index

    def _unwatch(self) -> None:
        iterator, self.watched = self.watched() if self.watched is not None else None, None
        if iterator is not None:
            vars(iterator).pop("_next_index", None)


class _Groups:
    """Mean time per batch over groups of consecutive batches; each group is one value of a counter."""

    start: float  # Set by begin().

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size, self.count = name, size, 0
        self.means: List[float] = []
        self.created = clock()

    def begin(self) -> None:
        self.start = clock()

    def add(self) -> None:
        self.count += 1
        if self.count == self.size:
            now = clock()
            self.means.append((now - self.start) / self.size)
            self.start, self.count = now, 0

    def is_late(self) -> bool:
        return clock() - self.created > MOST_SECONDS

    def tell(self) -> None:
        for mean in self.means:
            counter(self.name, mean * 1e6)
