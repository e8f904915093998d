#!/usr/bin/env python3
"""The slow, simple computation of `gpu_time[]` and `idle[]` of report/1 for one trace file.

    tests/oracle/gpu_oracle.py TRACE.json[.gz]

Shares no code and no method with the program. Loads the whole file, parses times from the decimal text as exact
integers (or fractions) of a nanosecond, and sweeps over all starts and ends to count running tasks. Definitions:
docs/report.md. Requires a well-formed trace. Raises Unclear for events without a rule.
"""
import collections
import decimal
import fractions
import gzip
import json
import re
import sys

CALL_CATEGORIES = {"cuda_runtime", "cuda_driver"}
# A word that begins with the name of a collective library, or an all-reduce kernel that a framework includes.
COLLECTIVE = re.compile(r"\b(nccl|rccl|(multimem|one_shot|two_shot)_all_reduce|cross_device_reduce)")

EXACT = decimal.Context(prec=100, traps=[decimal.Inexact])

Task = collections.namedtuple("Task", "kind device stream start end correlation")


class Unclear(ValueError):
    """The trace contains an event that this oracle has no rule for."""


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=decimal.Decimal, parse_constant=_no_constant)


def _no_constant(name):
    raise Unclear(f"{name} is not a number")


def nanoseconds(value):
    """Converts microseconds as in the file (int or Decimal) to exact nanoseconds: an int, or a Fraction if
    necessary.
    """
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        raise Unclear(f"not a time: {value!r}")
    if isinstance(value, int):
        return value * 1000
    exact = EXACT.scaleb(value, 3)
    whole = int(exact)
    return whole if whole == exact else fractions.Fraction(exact)


def events_of(trace):
    if isinstance(trace, list):
        return trace
    if isinstance(trace, dict) and isinstance(trace.get("traceEvents"), list):
        return trace["traceEvents"]
    raise Unclear("neither an object with traceEvents nor an array of events")


def rank_of(trace):
    rank = trace.get("distributedInfo", {}).get("rank") if isinstance(trace, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else None  # -1: no process group.


def gpu_tasks(events):
    """Returns GPU tasks in file order."""
    tasks = []
    for e in events:
        if e.get("ph") != "X":
            continue
        category = e.get("cat")
        if category == "kernel":
            kind = "communication" if COLLECTIVE.search(e["name"]) else "compute"
        elif category in ("gpu_memcpy", "gpu_memset"):
            kind = "memory"
        else:
            continue
        args = e.get("args", {})
        start, length = nanoseconds(e.get("ts")), nanoseconds(e.get("dur"))
        if length < 0:
            raise Unclear(f"negative duration at {start} ns")
        device, stream = args.get("device", e.get("pid")), args.get("stream", e.get("tid"))
        if not isinstance(device, int) or not isinstance(stream, int):
            raise Unclear(f"device {device!r}, stream {stream!r}")
        tasks.append(Task(kind, device, stream, start, start + length, args.get("correlation")))
    return tasks


def launch_starts(events):
    """Returns {correlation number: starts of the host calls with it}."""
    starts = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e.get("cat") in CALL_CATEGORIES and "correlation" in e.get("args", {}):
            starts[e["args"]["correlation"]].append(nanoseconds(e.get("ts")))
    return starts


def launch_of(task, starts):
    """Returns the start of the call that launched the task, or None. Of several calls, the last one that starts no
    later than the task.
    """
    candidates = starts.get(task.correlation, []) if task.correlation is not None else []
    before = [s for s in candidates if s <= task.start]
    return max(before) if before else min(candidates, default=None)


def ms(ns):
    return float(fractions.Fraction(ns) / 1_000_000)


def gpu_time_row(tasks, span):
    """Yields the running tasks in each interval between neighbouring starts or ends."""
    steps = collections.defaultdict(collections.Counter)
    for t in tasks:
        steps[t.start][t.kind] += 1
        steps[t.end][t.kind] -= 1
    running, total = collections.Counter(), collections.Counter()
    times = sorted(steps)
    for here, there in zip(times, times[1:]):
        running.update(steps[here])  # Adds counts; negative ones remove tasks.
        length = there - here
        compute, communication, memory = (running[k] > 0 for k in ("compute", "communication", "memory"))
        total["busy"] += length * (compute or communication or memory)
        total["compute"] += length * compute
        total["communication"] += length * communication
        total["memory"] += length * memory
        total["exposed_communication"] += length * (communication and not compute)
        total["exposed_memory"] += length * (memory and not compute and not communication)
        total["hidden"] += length * (communication and compute)
    overlap = None
    if total["communication"]:
        overlap = float(100 * fractions.Fraction(total["hidden"]) / fractions.Fraction(total["communication"]))
    return {
        "span_ms": ms(span),
        "busy_ms": ms(total["busy"]),
        "compute_ms": ms(total["compute"]),
        "communication_ms": ms(total["communication"]),
        "memory_ms": ms(total["memory"]),
        "exposed_communication_ms": ms(total["exposed_communication"]),
        "exposed_memory_ms": ms(total["exposed_memory"]),
        "idle_ms": ms(span - total["busy"]),
        "overlap_communication_pct": overlap,
    }


def idle_row(tasks, starts):
    wait = {"host_wait_ms": 0, "kernel_wait_ms": 0, "other_ms": 0}
    tasks = sorted(tasks, key=lambda t: t.start)  # Stable: ties keep the order of the file.
    latest_end = tasks[0].end
    for t in tasks[1:]:
        if t.start > latest_end:
            launch = launch_of(t, starts)
            why = "other_ms" if launch is None else "host_wait_ms" if launch > latest_end else "kernel_wait_ms"
            wait[why] += t.start - latest_end
        latest_end = max(latest_end, t.end)
    return {k: ms(v) for k, v in wait.items()}


def analyse(trace):
    """Returns `gpu_time` and `idle` of report/1, for one parsed file."""
    events, rank = events_of(trace), rank_of(trace)
    tasks, starts = gpu_tasks(events), launch_starts(events)
    if not tasks:
        return {"gpu_time": [], "idle": []}
    span = max(t.end for t in tasks) - min(t.start for t in tasks)
    by_device, by_stream = collections.defaultdict(list), collections.defaultdict(list)
    for t in tasks:
        by_device[t.device].append(t)
        by_stream[t.device, t.stream].append(t)
    return {
        "gpu_time": [{"rank": rank, "device": d, **gpu_time_row(by_device[d], span)} for d in sorted(by_device)],
        "idle": [
            {"rank": rank, "device": d, "stream": s, **idle_row(by_stream[d, s], starts)} for d, s in sorted(by_stream)
        ],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(analyse(load(sys.argv[1])), indent=1))
