#!/usr/bin/env python3
"""Compares replicate_trace with a slow, simple copy on the parsed JSON.

    replicate_trace_test.py TOOL [TRACE...]

Without a trace it uses the small one below, which holds each kind of id, a 0 that means "none", a null
parent, a quoted id, metadata, and the events that describe the recording itself.
"""

import collections
import copy
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

SMALL_TRACE = """{
  "schemaVersion": 1, "note": "a \\"}]{[ in a string",
  "traceEvents": [
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#9", "pid": 5, "tid": 5,
    "ts": 100.500, "dur": 50.000,
    "args": {"External id": 1, "Record function id": 0, "Ev Idx": 0}
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "quote \\" [ \\\\", "pid": 5, "tid": 5, "ts": 101.001, "dur": 9.250,
    "args": {"External id": 2,"Sequence number": 0, "Record function id": 7, "Input Dims": [[4, 4], []], "Ev Idx": 1}
  },
  {"ph": "s", "id": 1, "pid": 5, "tid": 5, "ts": 101.001, "cat": "fwdbwd", "name": "fwdbwd"},
  {"ph": "X", "cat": "python_function", "name": "f.py(1): f", "pid": 5, "tid": 5, "ts": 99.000, "dur": 60,
    "args": {"Python parent id": null, "Python id": 1, "Ev Idx": 2}},
  {"ph": "X", "cat": "python_function", "name": "f.py(2): g", "pid": 5, "tid": 5, "ts": 99.125, "dur": 3.5,
    "args": {"Python parent id": 1, "Python id": 2, "Ev Idx": 3}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 5, "ts": 102, "dur": 3.001,
    "args": {"External id": "2", "cbid": 211, "correlation": 77}},
  {"ph": "s", "id": 77, "pid": 5, "tid": 5, "ts": 102, "cat": "ac2g", "name": "ac2g"},
  {"ph": "X", "cat": "kernel", "name": "k<1>", "pid": 0, "tid": 7, "ts": 120.999, "dur": 31.001,
    "args": {"External id": 2, "device": 0, "stream": 7, "correlation": 77}},
  {"ph": "f", "id": 77, "pid": 0, "tid": 7, "ts": 120.999, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 99.5, "dur": 0.000,
    "args": {"External id": 0, "device": 0, "stream": 7, "correlation": 0, "bytes": 16}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 103.5, "dur": 1.000,
    "args": {"wait_on_cuda_event_record_corr_id": -1, "correlation": 78}},
  {"name": "process_name", "ph": "M", "ts": 98.000, "pid": 5, "tid": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "Trace", "ts": 98.000, "dur": 70.125, "pid": "Spans", "tid": "P", "name": "P (0)",
    "args": {"Op count": 0}},
  {"name": "Iteration Start: P", "ph": "i", "s": "g", "pid": "Traces", "tid": "T", "ts": 98.000},
  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 170.000}
  ],
  "traceName": "t.json"
}"""

GROUPS = {
    "correlation": "correlation",
    "External id": "correlation",
    "id": "correlation",
    "wait_on_cuda_event_record_corr_id": "correlation",
    "Sequence number": "sequence",
    "Record function id": "record",
    "Ev Idx": "index",
    "Python id": "python",
    "Python parent id": "python",
}
ZERO_IS_NONE = {"correlation", "External id", "wait_on_cuda_event_record_corr_id", "Record function id"}
STEP = "ProfilerStep#"


def appears_once(event):
    name = str(event.get("name"))
    return (
        event["ph"] == "M"
        or event.get("cat") == "Trace"
        or name.startswith("Iteration Start")
        or name == "Record Window End"
    )


def ids(event):
    """Yields (holder, key, group, value) of each id of an event."""
    for holder in (event, event.get("args", {})):
        for key, value in holder.items():
            group = GROUPS.get(key)
            if group is None or (key == "id") != (holder is event) or value is None or int(value) < 0:
                continue
            if int(value) == 0 and key in ZERO_IS_NONE:
                continue
            yield holder, key, group, value


def strides(events):
    values = collections.defaultdict(list)
    for event in events:
        for _, _, group, value in ids(event):
            values[group].append(int(value))
        if str(event.get("name")).startswith(STEP):
            values["step"].append(int(event["name"][len(STEP) :]))
    return {group: max(v) - min(v) + 1 for group, v in values.items()}


def moved(event, number, stride, shift_us):
    event = copy.deepcopy(event)
    event["ts"] += number * shift_us
    for holder, key, group, value in list(ids(event)):
        holder[key] = type(value)(int(value) + number * stride[group])
    if str(event.get("name")).startswith(STEP):
        event["name"] = STEP + str(int(event["name"][len(STEP) :]) + number * stride["step"])
    return event


def replicated(trace, copies):
    """Returns the expected result and the expected summary."""
    events = trace["traceEvents"]
    body = [event for event in events if not appears_once(event)]
    span = max(e["ts"] + e.get("dur", 0) for e in body) - min(e["ts"] for e in body)
    shift_us = (math.floor(span / 1000) + 1) * 1000
    stride = strides(body)
    result = []
    for number in range(copies):
        for event in events:
            if not appears_once(event):
                result.append(moved(event, number, stride, shift_us))
            elif event.get("name") == "Record Window End":
                if number == copies - 1:
                    result.append({**event, "ts": event["ts"] + number * shift_us})
            elif number == 0:
                longer = {"dur": event["dur"] + (copies - 1) * shift_us} if event.get("cat") == "Trace" else {}
                result.append({**event, **longer})
    summary = {
        "copies": copies,
        "shift_ns": shift_us * 1000,
        "events": len(result),
        "kernels": sum(e.get("cat") == "kernel" for e in result),
        "gpu_tasks": sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in result),
        "steps": sum(
            e["ph"] == "X" and e["name"].startswith(STEP) and e["cat"] != "gpu_user_annotation" for e in result
        ),
        "dur_sum_ns": int(1000 * sum(e.get("dur", 0) for e in result if e["ph"] == "X")),
    }
    return {**trace, "traceEvents": result}, summary


def check_joins(events, original, copies):
    """Checks that no id joins events of two copies, and that each copy joins as many events as the original."""

    def joins(some):
        launches = collections.Counter()
        for event in some:
            for _, key, group, value in ids(event):
                launches[group, event.get("cat") if group == "correlation" else key, int(value)] += 1
        return collections.Counter((group, kind, count) for (group, kind, _), count in launches.items())

    body = [event for event in events if not appears_once(event)]
    expected = joins(event for event in original if not appears_once(event))
    assert joins(body) == collections.Counter({k: n * copies for k, n in expected.items()}), "joins differ"


def parse(text):
    return json.loads(text, parse_float=Decimal)


def check(tool, text, folder, copies):
    source, out = folder / "in.json", folder / "out.json"
    source.write_bytes(text)

    def run(*arguments):
        done = subprocess.run([tool, *map(str, arguments)], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    run(source, "-o", out)
    assert out.read_bytes() == text, "one copy is not the original"

    summary = run(source, "--copies", copies, "-o", out)
    trace = parse(text)
    expected, expected_summary = replicated(trace, copies)
    got = parse(out.read_bytes())
    for index, (a, b) in enumerate(zip(got["traceEvents"], expected["traceEvents"])):
        assert a == b, f"event {index}: got {a}, expected {b}"
    assert got == expected
    assert summary == {**expected_summary, "bytes": out.stat().st_size}, (summary, expected_summary)
    check_joins(got["traceEvents"], trace["traceEvents"], copies)

    packed = folder / "out.json.gz"
    assert run(source, "--copies", copies, "-o", packed) == summary
    assert gzip.decompress(packed.read_bytes()) == out.read_bytes(), ".gz differs from plain"

    rows = [i for i, e in enumerate(trace["traceEvents"]) if e["ph"] != "M"]
    rows.sort(key=lambda i: trace["traceEvents"][i]["ts"])
    kept = set(rows[: len(rows) // 2])
    expected = [e for i, e in enumerate(trace["traceEvents"]) if i in kept or e["ph"] == "M"]
    summary = run(source, "--earliest", len(expected), "-o", out)
    assert parse(out.read_bytes()) == {**trace, "traceEvents": expected}, "not the earliest events"
    assert summary["events"] == len(expected)


def main():
    tool, *traces = sys.argv[1:]
    texts = [pathlib.Path(p).read_bytes() for p in traces]
    texts = [gzip.decompress(t) if t[:2] == b"\x1f\x8b" else t for t in texts] or [SMALL_TRACE.encode()]
    with tempfile.TemporaryDirectory() as folder:
        for text in texts:
            check(tool, text, pathlib.Path(folder), 3)
    print(f"{len(texts)} trace(s) fine")


if __name__ == "__main__":
    main()
