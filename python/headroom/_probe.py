"""Probes of an input pipeline inside a run: the loop without its loader, and the loader without its loop. Private.

User: headroom._patches, where `headroom record --probe-input` asks for it. The first loader that feeds a training loop
is probed once, behind its first WARM_UP batches:

  * TURNS times: STEPS steps as ever, then STEPS steps to which its last batch is served again, with nothing to wait
    for. By turns, so that a machine that gets slower is slower for both. Each begins when workers and queue are where
    they were, or will stay.
  * The loader alone: batches one after the other, without a step between them.
  * The same samples once more, from a loader of the same settings: what was read from storage is now in memory.

The program trains on repeated batches and misses as many others, so that an epoch keeps its length where it can; what
it learns is not worth keeping, and the user has asked for that. What the probe measures goes into the recording as
counters, microseconds, a mean each: `loader.probe_real_us` and `..._replay_us` (of a step, one value a turn),
`..._alone_us` and `..._again_us` (of a batch, GROUPS values); `loader.probe_other_size` counts batches that were not of
the size of the one that was repeated. Marks `loader.probe begin` and `loader.probe end` stand around it, `loader.probe
gave up: ...` says why some of it is missing.
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

WARM_UP = 10  # Steps; XProf and DS-Analyzer leave as many out.
TURNS, STEPS = 4, 10  # 40 steps of each kind.
MOST_SETTLING = 40  # Steps at the beginning of a turn.
MOST_TRIES = 10 * STEPS  # Of a turn, where something else comes between.
GROUPS, FEWEST_IN_GROUP = 5, 8  # Batches of the loader alone.
MOST_SECONDS = 20  # Of it.
MOST_RESTARTS = 8  # Of turns that an epoch's end cut off.
MOST_FOREIGN = 500  # Fetches of other loaders, and none of the probed one.
MOST_COPIES = 1 << 30  # Bytes of batches that are kept for the steps of a turn.

# By which launchers say how many ranks there are.
RANKS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "SLURM_STEP_NUM_TASKS")

current: Optional[Probe] = None  # The probe, until it is done; None: nobody asked for one.
running = False

counter, mark, clock = _timer.counter, _timer.mark, time.perf_counter
_END = object()


def begin(torch: Any, trains: Trains) -> None:
    """Asks for a probe. trains(iterator): a number that grows with the updates of the calling thread; None: the
    iterator serves an evaluation, or there was no update."""
    global current
    if multiprocessing.parent_process() is None:  # A worker has no loop.
        current = Probe(torch, trains)
        atexit.register(_tell_of_none)


def _tell_of_none() -> None:
    if (
        current is not None and not running and multiprocessing.parent_process() is None
    ):  # A spawned worker begins before it knows.
        mark(
            "loader.probe gave up: no loader of PyTorch fed a training loop on the loop's own thread, "
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
    """A batch that the loop may do with as it likes."""
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
    """What is done with a loop's fetches, one after the other: a script that yields what each of them gets."""

    loader: weakref.ref[Any]  # The probed one, since it is known.
    kind: Tuple[Any, ...]  # What makes others like it.
    fetch: Fetch  # Of this call, as is `iterator`.

    def __init__(self, torch: Any, trains: Trains) -> None:
        self.torch, self.trains = torch, trains
        # By iterator, before it begins: those behind an update, and that of the last.
        self.fetches: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.thread: Optional[int] = None
        self.script: Optional[Iterator[Any]] = None
        self.foreign = 0  # Fetches of other loaders since the last of this one.
        self.iterator: Any = None
        # Batches that came since the iterator is watched: the first `unknown` ones had been asked for before, then come
        # those of `indices`.
        self.watched: Optional[weakref.ref[Any]] = None
        self.seen = self.received = self.unknown = 0
        self.indices: List[Any] = []
        self.busy = False  # In the script.
        self.raised: Optional[BaseException] = None  # What the loader raised there.
        self.disturbed = False  # The step was about more than a step: an evaluation, another epoch.
        self.repeated = self.withheld = 0  # Batches.
        self.size: Optional[Tuple[int, int]] = None  # Of the repeated batch: bytes and tensors.

    def next(self, iterator: Any, fetch: Fetch) -> Any:
        """In the place of fetch(iterator), the iterator's __next__."""
        if self.busy:
            return fetch(iterator)
        try:
            is_served = self._is_served(iterator)
        except Exception as error:  # Not the program's concern.
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

    # --- which loader ---

    def _is_served(self, iterator: Any) -> bool:
        if self.script is None and not self._begins(iterator):
            return False
        if threading.get_ident() == self.thread and self._is_mine(iterator):
            return True
        self.disturbed = True
        self.foreign += 1
        if self.foreign > MOST_FOREIGN:
            self._end("its loader is no longer asked")
        return False

    def _begins(self, iterator: Any) -> bool:
        global running
        updates = self.trains(iterator)
        count, before = self.fetches.get(iterator, (0, None))
        self.fetches[iterator] = (count + (updates is not None and updates != before), updates)
        if updates is None or updates == before or count < WARM_UP:
            return False
        if _has_ranks(self.torch):  # Which must stay in step: one step more of one of them hangs all.
            self._end("the program runs on several ranks")
            return False
        loader = iterator._headroom_loader()
        if loader is None:  # Its workers stay, and the program has let go of it.
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
        # Programs may make a loader for each epoch.
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
        """Steps as ever, then with the last batch. Yields what the loop gets; returns how many batches are ready as
        ever, _END where the epoch ended before, None where hardly a step is undisturbed.

        level: what the turn before returned; the queue that repeating has filled is drained to it."""
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
                mark("loader.probe gave up: other loaders are asked within its steps")
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
                # Copies are made outside the time: of large batches fewer, for as many steps.
                bytes_each = max(1, (self.size or (MOST_COPIES, 0))[0])
                steps = max(1, min(STEPS, MOST_COPIES // bytes_each))
                copies = [_copy(self.torch, kept) for _ in range(steps)]
                begin = self._now()
            elif begin is not None and not copies:
                break
            tries += 1
            if tries > MOST_SETTLING + MOST_TRIES:
                mark("loader.probe gave up: other loaders are asked within its steps")
                return None
            self.repeated += 1
            yield copies.pop() if begin is not None else _copy(self.torch, kept)
        replay_us = (self._now() - begin) / steps * 1e6
        counter("loader.probe_real_us", step_us)
        counter("loader.probe_replay_us", replay_us)
        return ready / STEPS

    def _alone(self, last: bool) -> Any:
        """Drains the iterator, and then the same samples from another one. Returns the last batch, which the loop waits
        for; _END where the epoch ended before. last: what there is must do."""
        ahead, size = self._ahead(), self._group_size()
        timer = _Groups("loader.probe_alone_us", size)
        first, batch = 0, self._next()
        other = 0
        for i in range(ahead + GROUPS * size):
            if batch is _END or timer.is_late():
                break
            if i == ahead:  # What was ready before it began is used up.
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
                "loader.probe gave up: an epoch is too short to measure the loader alone, which takes "
                f"{ahead + 1 + GROUPS * size} batches"
            )
        indices = self.indices[max(0, first - self.unknown) :][: len(timer.means) * size]
        if indices and first >= self.unknown:
            try:
                self._again(indices, ahead, size)
            except Exception as error:
                mark(f"loader.probe gave up: {type(error).__name__} as samples were read again")
        # So that the epoch has as many steps as without a probe.
        while batch is not _END and self.withheld < self.repeated and not timer.is_late():
            batch = self._next()
            self.withheld += 1
        return batch

    def _again(self, indices: List[Any], ahead: int, size: int) -> None:
        """The same samples from a new loader of the same settings, which is as far ahead as the other was when the
        count began.
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
        """How many batches its workers may be ahead of the loop."""
        workers: int = self.iterator._num_workers
        each: int = getattr(self.iterator, "_prefetch_factor", None) or 0
        return workers * each

    def _group_size(self) -> int:
        """Batches of so many workers come in bursts of as many: whole ones make a group."""
        workers: int = max(1, self.iterator._num_workers)
        return workers * -(-FEWEST_IN_GROUP // workers)

    def _ready(self) -> int:
        return _loader.ready_batches(self.iterator) if self.iterator._num_workers > 0 else 0

    def _is_settled(self) -> bool:
        """Whether its workers are as far ahead as they may be."""
        return self._ready() >= self._ahead()

    def _is_disturbed(self) -> bool:
        disturbed, self.disturbed = self.disturbed, False
        return disturbed

    def _now(self) -> float:
        """The time at which all that was launched is done."""
        cuda = self.torch.cuda
        if cuda.is_available() and cuda.is_initialized():
            cuda.synchronize()
        return clock()

    def _watch_indices(self) -> None:
        """Keeps the indices of each batch that the iterator is asked for from here on."""
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
        original, me = type(iterator)._next_index, weakref.ref(iterator)  # Else it would keep itself alive.

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
    """Means of batches that follow each other, a counter's value a group."""

    start: float  # Since begin().

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
