"""Probes of an input pipeline inside a run: the loop without its loader, and the loader without its loop. Private.

User: headroom._patches, where `headroom record --probe-input` asks for it. The first loader that feeds a training loop is probed once, behind
its first WARM_UP batches:

  * BLOCKS times, by turns: steps as ever, and steps to which its last batch is served again, with nothing to wait for. By turns, so that
    a machine that gets slower is slower for both; the first steps of each turn are left out, until workers and queue have settled.
  * The loader alone: batches one after the other, without a step between them.
  * The same samples once more, from a loader of the same settings: what was read from storage is now in memory.

The program trains on repeated batches and misses others, so what it learns is not worth keeping; the user has asked for that. What the probe measures goes into
the recording as counters, microseconds: `loader.probe_real_us` and `..._replay_us` (a step), `..._alone_us` and `..._again_us` (a batch);
`loader.probe_other_size` counts batches that were not of the size of the one that was replayed. Marks `loader.probe begin` and
`loader.probe end` stand around it, `loader.probe gave up: ...` in between says why some of it is missing.
"""

import atexit
import collections.abc
import copy
import itertools
import sys
import threading
import time
import weakref

from headroom import _loader, _timer

WARM_UP = 10  # Steps; XProf and DS-Analyzer leave as many out.
BLOCKS, STEPS = 4, 10  # 40 steps of each kind.
MOST_SETTLING = 40  # Steps at the beginning of a turn.
MOST_TRIES = 10 * STEPS  # Of a turn, where something else comes between.
ALONE = 40  # Batches ...
MOST_SECONDS = 20  # ... or so long.
MOST_RESTARTS = 8  # Of turns that an epoch's end cut off.

current = None  # The probe, until it is done; None: nobody asked for one.
running = False


def begin(torch, trains):
    """Asks for a probe. trains(): whether the calling thread has updated a model."""
    global current
    current = Probe(torch, trains)
    atexit.register(_tell_of_none)


def _tell_of_none():
    if current is not None and not running:
        mark("loader.probe gave up: no loader of PyTorch fed a training loop on the loop's own thread, for 10 batches and an update")


counter, mark, clock = _timer.counter, _timer.mark, time.perf_counter
_END = object()


def _served_again(torch, batch, changed):
    """A batch for the loop to do with as it likes: containers are new, tensors are too where `changed` says that it writes to them."""
    if isinstance(batch, torch.Tensor):
        if not changed:
            return batch
        return batch.clone().pin_memory() if batch.is_pinned() else batch.clone()
    if isinstance(batch, (str, bytes, int, float, bool, type(None))):
        return batch
    if isinstance(batch, tuple):
        parts = [_served_again(torch, part, changed) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if isinstance(batch, list):
        return [_served_again(torch, part, changed) for part in batch]
    if isinstance(batch, collections.abc.MutableMapping):
        again = copy.copy(batch)
        for key in batch:
            again[key] = _served_again(torch, batch[key], changed)
        return again
    return copy.copy(batch)


def _versions(torch, batch):
    """How often the tensors of a batch were written to."""
    if isinstance(batch, torch.Tensor):
        return [] if batch.is_inference() else [batch._version]
    if isinstance(batch, collections.abc.Mapping):
        batch = batch.values()
    elif not isinstance(batch, (list, tuple)):
        return []
    return list(itertools.chain.from_iterable(_versions(torch, part) for part in batch))


class Probe:
    """What is done with a loop's fetches, one after the other: a script that yields what each of them gets."""

    def __init__(self, torch, trains):
        self.torch, self.trains = torch, trains
        self.fetches = weakref.WeakKeyDictionary()  # By iterator, before it begins.
        self.dataset = self.thread = self.script = None
        self.iterator = self.fetch = None  # Of this call.
        # Batches that came since the iterator is watched: the first `unknown` ones had been asked for before, then come those of `indices`.
        self.received, self.unknown, self.indices = 0, 0, []
        self.busy, self.raised = False, None  # In the script; what the loader raised there.
        self.disturbed = False  # Since the turn began, the step was about more than a step: an evaluation, another epoch.
        self.size = None  # Of the replayed batch: bytes and tensors.

    def next(self, iterator, fetch):
        """In the place of fetch(iterator), the iterator's __next__."""
        if self.script is None:
            count = self.fetches[iterator] = self.fetches.get(iterator, 0) + 1
            if count <= WARM_UP or not self.trains():
                return fetch(iterator)
            if self._has_ranks():  # Which must stay in step: an epoch that is longer for one hangs all.
                mark("loader.probe gave up: the program runs on several ranks")
                self._end()
                return fetch(iterator)
            self._begin(iterator)
        # Of a validation, or of the script's own.
        if self.busy or iterator._dataset is not self.dataset or threading.get_ident() != self.thread:
            self.disturbed = True
            return fetch(iterator)
        if self.iterator is not iterator:
            self._watch_indices(iterator)
        self.fetch, self.busy = fetch, True
        try:
            batch = next(self.script)
        except BaseException as error:
            self._end()
            if error is self.raised or not isinstance(error, Exception):  # The loader's own.
                raise
            if not isinstance(error, StopIteration):
                mark(f"loader.probe gave up: {type(error).__name__}")
            return fetch(iterator)
        finally:
            self.busy = False
        if batch is _END:
            raise StopIteration
        return batch

    def _has_ranks(self):
        distributed = self.torch.distributed
        return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1

    def _begin(self, iterator):
        global running
        running = True
        self.dataset, self.thread, self.script = iterator._dataset, threading.get_ident(), self._script()
        mark("loader.probe begin")
        print("headroom: --probe-input repeats and skips batches: do not keep what this run learns", file=sys.stderr)

    def _end(self):
        global current, running
        running, current = False, None
        self._unwatch()
        mark("loader.probe end")

    # --- the script ---

    def _script(self):
        restarts, block = 0, 0
        while block < BLOCKS:
            whole = yield from self._turns()
            if whole is None:
                mark("loader.probe gave up: other loaders are asked within its steps")
                return
            block += whole
            restarts += not whole
            if restarts > MOST_RESTARTS:
                mark("loader.probe gave up: an epoch is too short for a turn")
                return
        yield self._alone()

    def _turns(self):
        """Steps as ever, then with the last batch. False where the epoch ended before; None where hardly a step is undisturbed."""
        settling = min(MOST_SETTLING, self._ahead() + 2)
        steps, replays, before, kept = [], [], None, None
        self.disturbed, count = False, 0
        while len(steps) < STEPS:
            batch = self._next()
            if batch is _END:
                yield batch
                return False
            end = clock()
            if self._is_disturbed():
                before = None
            elif count >= settling and before is not None:
                steps.append(end - before)
            before, count = end, count + 1
            if count > settling + MOST_TRIES:
                yield batch
                return None
            if len(steps) == STEPS:  # The loop may change what it gets.
                kept = _served_again(self.torch, batch, True)
            yield batch
        changed, count = True, 0
        while len(replays) < STEPS:
            served = _served_again(self.torch, kept, changed)
            versions = _versions(self.torch, served)
            begin = clock()
            yield served
            took, count = clock() - begin, count + 1
            if count == 1:
                changed = _versions(self.torch, served) != versions
            elif not self._is_disturbed() and (count > MOST_SETTLING or (count > 3 and self._is_settled())):
                replays.append(took)
            elif count > MOST_SETTLING + MOST_TRIES:
                return None
        self.size = _loader._measure(kept)
        for value in steps:
            counter("loader.probe_real_us", value * 1e6)
        for value in replays:
            counter("loader.probe_replay_us", value * 1e6)
        return True

    def _alone(self):
        """Drains the iterator, and then the same samples from another one. Returns the last batch, which the loop waits for."""
        ahead = self._ahead()
        begin = before = clock()
        first = done = other = 0
        for i in range(ahead + 1 + ALONE):
            batch = self._next()
            now = clock()
            if batch is _END:
                break
            if i == ahead:  # What was ready before it began is used up.
                first = self.received
            elif i > ahead:
                counter("loader.probe_alone_us", (now - before) * 1e6)
                done += 1
                other += _loader._measure(batch) != self.size
                if now - begin > MOST_SECONDS:
                    break
            before = now
        if other:
            counter("loader.probe_other_size", other)
        indices = self.indices[max(0, first - self.unknown):][:done]
        if done and first >= self.unknown and len(indices) == done:
            try:
                self._again(indices, ahead)
            except Exception as error:
                mark(f"loader.probe gave up: {type(error).__name__} as samples were read again")
        else:
            mark("loader.probe gave up: which samples to read again is not known")
        return batch

    def _again(self, indices, ahead):
        """The same samples from a new loader of the same settings, which is as far ahead as the other was when the count began."""
        loader = getattr(self.iterator, "_headroom_loader", lambda: None)()
        if loader is None or isinstance(self.dataset, self.torch.utils.data.IterableDataset):
            mark("loader.probe gave up: a stream cannot be read again")
            return
        from headroom import data

        iterator = iter(data.of_samples(self.torch, loader, indices[:1] * (ahead + 1) + indices))
        begin = before = clock()
        for i, _ in enumerate(iterator):
            now = clock()
            if i > ahead:
                counter("loader.probe_again_us", (now - before) * 1e6)
                if now - begin > MOST_SECONDS:
                    break
            before = now

    # --- the iterator ---

    def _is_disturbed(self):
        disturbed, self.disturbed = self.disturbed, False
        return disturbed

    def _next(self):
        try:
            batch = self.fetch(self.iterator)
        except StopIteration:
            return _END
        except BaseException as error:
            self.raised = error
            raise
        self.received += 1
        return batch

    def _ahead(self):
        """How many batches its workers may be ahead of the loop."""
        return self.iterator._num_workers * (getattr(self.iterator, "_prefetch_factor", None) or 0)

    def _is_settled(self):
        """Whether its workers are as far ahead as they may be."""
        return self.iterator._num_workers == 0 or _loader.ready_batches(self.iterator) >= self._ahead()

    def _watch_indices(self, iterator):
        """Keeps the indices of each batch that is asked for from here on."""
        self._unwatch()
        self.disturbed = True
        indices = []
        self.iterator, self.indices, self.received = iterator, indices, 0
        self.unknown = getattr(iterator, "_send_idx", 0) - getattr(iterator, "_rcvd_idx", 0)
        original = iterator._next_index

        def next_index():
            index = original()
            indices.append(index)
            return index
        iterator._next_index = next_index

    def _unwatch(self):
        iterator, self.iterator = self.iterator, None
        if iterator is not None:
            del iterator._next_index
