"""Benchmarks a dataset or loader without training: the time per sample, the slowest stage, the best number of
workers. Called as a function, `headroom.data(trace)` answers for a recorded loop.

    headroom data bench train:make_loader           # from the shell; make_loader() returns a DataLoader, or a dataset

    result = headroom.data.bench(loader, workers=(0, 2, 4))
    print(headroom.data.to_text(result))

Measures in two steps. First it loads samples in this process, one at a time: cold, then warm, by stage, and collation.
Then it drains the whole loader with k workers. It trains nothing. Times in the result are seconds. Intervals are 95 %
intervals of the mean, from the means of 10 groups of consecutive values, because consecutive values are correlated.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import statistics
import sys
import time
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

from headroom import _loader, _loader_copies, _patches, _timer
from headroom.data_module import DataModule

__all__ = ["bench", "to_text"]

sys.modules[__name__].__class__ = DataModule
SCHEMA = "headroom.data-bench/1"
BATCHES = 10
STUDENT = 2.262  # Student's t, 97.5 %, with 9 degrees of freedom.
WARM_UP_BATCHES = 2  # Per worker: fills caches and runs imports.
FEWEST_SAMPLES = 20
MOST_FILES = 64  # Opened for one sample.


class DataError(Exception):
    """An error of the dataset or loader, with the sample and the stage."""


def interval(values: Sequence[float]) -> Dict[str, Any]:
    """Returns the mean of values with its interval: {"mean", "low", "high", "median", "count"}. low and high are None
    for fewer than 20 values.
    """
    count, mean = len(values), statistics.fmean(values)
    row = {"mean": mean, "low": None, "high": None, "median": statistics.median(values), "count": count}
    if count >= 2 * BATCHES:
        each = count // BATCHES
        means = [statistics.fmean(values[i * each : (i + 1) * each]) for i in range(BATCHES)]
        half = STUDENT * statistics.stdev(means) / math.sqrt(BATCHES)
        row["low"], row["high"] = max(0.0, mean - half), mean + half
    return row


# --- samples one at a time ---


_opened: Optional[List[str]] = None  # Files read so far; None: not recording.
_hooked = False


def _on_audit(event: str, args: Any) -> None:
    if _opened is not None and event == "open" and isinstance(args[0], str) and len(_opened) < MOST_FILES:
        _opened.append(args[0])


@contextlib.contextmanager
def _files_opened() -> Iterator[List[str]]:
    global _opened, _hooked
    if not _hooked:  # Python cannot remove an audit hook.
        sys.addaudithook(_on_audit)
        _hooked = True
    files: List[str] = []
    _opened = files
    try:
        yield files
    finally:
        _opened = None


def _drop_from_cache(files: Iterable[str]) -> None:
    for name in set(files):
        try:
            descriptor = os.open(name, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def _bytes_read() -> Optional[int]:
    """Returns the bytes that this process has read from storage so far; None: the kernel does not record it."""
    try:
        with open("/proc/self/io") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))
    except (OSError, StopIteration):
        return None


def _load(dataset: Any, index: int) -> Any:
    try:
        return dataset[index]
    except Exception as error:
        stage, _loader._local.failed = _loader._local.failed, None
        raise DataError(f"sample {index}{f' in {stage}' if stage else ''}: {type(error).__name__}: {error}") from error


class _Samples:
    """Times a dataset's samples and stages in this process."""

    def __init__(
        self, torch: Any, dataset: Any, collate: Optional[Callable[[List[Any]], Any]], batch_size: int
    ) -> None:
        self.torch, self.dataset, self.collate, self.batch_size = torch, dataset, collate, batch_size
        self.whole: List[float] = []
        self.stages: Dict[str, List[float]] = {}
        self.collations: List[float] = []

    def measure(self, indices: Sequence[int], seconds: float) -> None:
        keys = [scope.key for scope in _loader.stages.values()] + _loader.reader_keys()
        before = {key: _self_seconds(key) for key in keys}
        batch, begin = [], time.perf_counter()
        for done, index in enumerate(itertools.cycle(indices)):
            if done >= FEWEST_SAMPLES and time.perf_counter() - begin > seconds:
                break
            token = _loader.SAMPLE.begin()
            _loader._local.failed = None
            start = time.perf_counter()
            try:
                sample = _load(self.dataset, index)
            finally:
                end = time.perf_counter()
                _timer.end(token)
            self.whole.append(end - start)
            for key in keys:
                now = _self_seconds(key)
                if now > before[key] or key in self.stages:
                    self.stages.setdefault(key, [0.0] * (len(self.whole) - 1)).append(now - before[key])
                before[key] = now
            batch.append(sample)
            if len(batch) == self.batch_size:
                if self.collate is not None:
                    start = time.perf_counter()
                    self.collate(batch)
                    self.collations.append(time.perf_counter() - start)
                batch = []


def _self_seconds(key: str) -> float:
    stats = _timer.stats(key)
    return stats.self_s if stats.count else 0.0


def _cold(dataset: Any, indices: Sequence[int], seconds: float) -> Optional[Dict[str, Any]]:
    """Returns the time of samples whose files were dropped from the page cache. Returns None if no opened files are
    seen (a library opens them, or there are none), or if too few reads reached storage.
    """
    times: List[float] = []
    read, begin = 0, time.perf_counter()
    for index in indices:
        if time.perf_counter() - begin > seconds and len(times) >= FEWEST_SAMPLES:
            break
        with _files_opened() as files:
            _load(dataset, index)
        if not files:
            return None
        _drop_from_cache(files)
        before = _bytes_read()
        start = time.perf_counter()
        _load(dataset, index)
        times.append(time.perf_counter() - start)
        after = _bytes_read()
        if before is None or after is None:
            return None
        read += after > before
    # Some file systems keep files cached regardless.
    return (
        {**interval(times), "read_from_storage_share": read / len(times)} if times and read * 2 >= len(times) else None
    )


def _storage(cold: Optional[Dict[str, Any]], warm: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """Returns the storage read time per sample. A difference within three standard errors is not significant; then the
    result is an upper limit.
    """
    if cold is None or cold["low"] is None or warm["low"] is None:
        return None
    error = math.hypot(*((row["high"] - row["mean"]) / STUDENT for row in (cold, warm)))
    difference = cold["mean"] - warm["mean"]
    is_clear = difference > 3 * error
    seconds = difference if is_clear else min(max(0.0, difference) + 3 * error, cold["mean"])
    return {"sample_s": seconds, "is_clear": is_clear, "samples_per_s": 1 / seconds if seconds > 0 else None}


# --- the whole loader ---


def _drain(torch: Any, loader: Any, workers: int, seconds: float) -> Dict[str, Any]:
    started = time.perf_counter()
    times: List[float] = []
    sizes: List[int] = []
    first: Optional[float] = None
    iterator = iter(_loader_copies.with_workers(torch, loader, workers))
    warm_up = WARM_UP_BATCHES * max(1, workers)
    last = None
    for number, batch in enumerate(iterator):
        now = time.perf_counter()
        if first is None:
            first = now - started
        if last is not None and number >= warm_up:
            times.append(now - last)
            sizes.append(_samples_of(batch))
        last = time.perf_counter()
        if number >= warm_up + BATCHES and now - started - first > seconds:
            break
    del iterator  # Ends the workers before the next measurement.
    row: Dict[str, Any] = {"workers": workers, "first_batch": first, "batches": len(times), "samples_per_s": None}
    if times and sum(times) > 0:
        per_batch = interval(times)
        samples = sum(sizes) / len(sizes)
        row["samples_per_s"] = {
            "mean": samples / per_batch["mean"],
            "low": None if per_batch["high"] is None else samples / per_batch["high"],
            "high": samples / per_batch["low"] if per_batch["low"] else None,
        }
        row["batch_s"] = per_batch
    return row


def _samples_of(batch: Any) -> int:
    """Returns the samples per batch: the length of its first tensor or list."""
    while isinstance(batch, (list, tuple, dict)) and len(batch) > 0:
        inner = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
        if not hasattr(inner, "__len__") or isinstance(inner, str):
            return len(batch)
        batch = inner
    return len(batch) if hasattr(batch, "__len__") and getattr(batch, "ndim", 1) > 0 else 1


def bench(source: Any, workers: Sequence[int] = (0, 1, 2, 4), seconds: float = 3.0, seed: int = 0) -> Dict[str, Any]:
    """Measures a DataLoader or a dataset (or a function without arguments that returns one).

    workers: numbers of workers to drain the whole loader with, `seconds` for each. A dataset is drained in batches of
    32.

    Raises DataError if there is no data or a sample raises; the message has its index and stage. Returns a
    headroom.data-bench/1 dict (docs/data.md).
    """
    import torch

    data = torch.utils.data
    if isinstance(source, type) or (
        callable(source) and not isinstance(source, data.DataLoader) and not hasattr(source, "__getitem__")
    ):
        source = source()
    if not isinstance(source, (data.DataLoader, data.IterableDataset)) and not (
        hasattr(source, "__getitem__") and hasattr(source, "__len__")
    ):
        raise DataError(f"pass a DataLoader or a dataset, not {type(source).__name__}")
    loader = source if isinstance(source, data.DataLoader) else data.DataLoader(source, batch_size=32)
    dataset = loader.dataset
    rows: Dict[str, Any] = {}
    is_stream = isinstance(dataset, data.IterableDataset)
    if not is_stream and len(dataset) == 0:
        raise DataError("the dataset is empty: there is no sample to measure")
    result: Dict[str, Any] = {
        "schema": SCHEMA,
        "cpus": len(os.sched_getaffinity(0)),
        "cold_sample_s": None,
        "sample_s": None,
        "storage": None,
        "stages": [],
        "collate_s": None,
        "loaders": [],
    }
    if not is_stream:
        choose = random.Random(seed)
        indices = [choose.randrange(len(dataset)) for _ in range(4096)]
        with _stages_timed(torch, dataset):
            result["cold_sample_s"] = _cold(dataset, indices, seconds)
            samples = _Samples(torch, dataset, loader.collate_fn, loader.batch_size or 1)
            for index in indices[:3]:
                _load(dataset, index)
            samples.measure(indices, seconds)
        result["sample_s"] = interval(samples.whole)
        result["storage"] = _storage(result["cold_sample_s"], result["sample_s"])
        rows = {key: interval(times) for key, times in samples.stages.items()}
        if samples.collations:
            result["collate_s"] = {**interval(samples.collations), "batch_size": loader.batch_size}
    result["stages"] = [
        {"name": key.partition("::")[2], "sample_s": row, "share": row["mean"] / result["sample_s"]["mean"]}
        for key, row in sorted(rows.items(), key=lambda item: -float(item[1]["mean"]))
    ]
    for count in workers:
        try:
            result["loaders"].append(_drain(torch, loader, count, seconds))
        except Exception as error:
            raise DataError(f"the loader with {count} workers: {type(error).__name__}: {error}") from error
    if result["loaders"] and all(row["first_batch"] is None for row in result["loaders"]):
        raise DataError("the loader gave no batch")
    return result


@contextlib.contextmanager
def _stages_timed(torch: Any, dataset: Any) -> Iterator[None]:
    """Context in which each stage of a dataset is a region."""
    _patches.install(torch)
    fetch = _patches.FETCH.begin()  # Inside a fetch, module calls do not count as a forward pass.
    try:
        _loader._time_readers(_patches.replace)
        _loader._time_decoder(_patches.replace)
        _loader._Finder(torch, _patches.replace, False).of_dataset(dataset)
        yield
    finally:
        _timer.end(fetch)
        _patches.restore()


# --- text output ---


def _ms(row: Optional[Dict[str, Any]]) -> str:
    if row is None:
        return "unknown"
    text = f"{row['mean'] * 1e3:9.3f} ms"
    return text if row["low"] is None else f"{text}  ({row['low'] * 1e3:.3f} to {row['high'] * 1e3:.3f})"


def _workers(row: Dict[str, Any]) -> str:
    return f"{row['workers']:>3} {'worker ' if row['workers'] == 1 else 'workers'}"


def to_text(result: Dict[str, Any]) -> str:
    """Returns the result of bench() as a table."""
    lines = []
    if result["sample_s"] is not None:
        cold = result["cold_sample_s"]
        lines.append("One sample, in this process                  mean  (95 % interval)")
        lines.append(f"  files not in memory      {_ms(cold) if cold else 'unknown: no file was read from storage'}")
        lines.append(f"  files in memory          {_ms(result['sample_s'])}  {result['sample_s']['count']} samples")
        storage = result["storage"]
        if storage is not None:
            lines.append(
                f"  reading from storage     {storage['sample_s'] * 1e3:9.3f} ms  "
                + ("the difference" if storage["is_clear"] else "upper limit: no significant difference")
            )
        for stage in result["stages"]:
            lines.append(f"    {stage['name'][:22]:<22} {_ms(stage['sample_s'])}  {stage['share'] * 100:.1f} %")
        known = sum(stage["share"] for stage in result["stages"])
        if result["stages"]:
            lines.append(
                f"    {'(the dataset itself)':<22} {result['sample_s']['mean'] * 1e3 * max(0.0, 1 - known):9.3f} ms  "
                f"{max(0.0, 1 - known) * 100:.1f} %"
            )
        collate = result["collate_s"]
        if collate is not None:
            what = "collate a sample" if collate["batch_size"] is None else f"collate {collate['batch_size']} samples"
            lines.append(f"  {what:<25}{_ms(collate)}")
        lines.append("")
    lines.append(f"The whole loader, on {result['cpus']} cores   samples/s  (95 % interval)   first batch")
    best = max((row["samples_per_s"]["mean"] for row in result["loaders"] if row["samples_per_s"]), default=0)
    for row in result["loaders"]:
        rate = row["samples_per_s"]
        if rate is None:
            lines.append(f"  {_workers(row)}   too few batches: the data ended during or soon after the warm-up")
            continue
        bounds = "" if rate["low"] is None or rate["high"] is None else f"({rate['low']:.4g} to {rate['high']:.4g})"
        mark = "  most" if rate["mean"] == best else ""
        lines.append(
            f"  {_workers(row)}      {rate['mean']:18.4g}  {bounds:<22}{row['first_batch'] * 1e3:7.0f} ms{mark}"
        )
    return "\n".join(lines) + "\n"


def _find(name: str) -> Any:
    import importlib

    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise SystemExit(
            f"headroom data bench: {name}: requires MODULE:FUNCTION, a function that returns a DataLoader or a dataset"
        )
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise SystemExit(f"headroom data bench: {name}: {error}") from error
    return found


def _main(arguments: Sequence[str]) -> int:
    """Runs `headroom data bench`; arguments: NAME WORKERS SECONDS text|json."""
    import json

    name, workers, seconds, form = arguments
    try:
        source = _find(name)
        if isinstance(source, types.FunctionType):
            try:
                source = source()
            except Exception as error:
                raise DataError(f"{name}() raised {type(error).__name__}: {error}") from error
        result = bench(source, workers=[int(count) for count in workers.split(",")], seconds=float(seconds))
    except DataError as error:
        print(f"headroom: {error}", file=sys.stderr)
        return 3
    except SystemExit as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.write(json.dumps(result) + "\n" if form == "json" else to_text(result))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
