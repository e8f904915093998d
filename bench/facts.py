#!/usr/bin/env python3
"""Prints the facts that a report on a trace must contain, computed independently: facts.py TRACE.json[.gz]

Uses the tests' oracle for GPU times. Runs as a separate process: the peak memory that `bench/run` measures for a child
process is at least its own.
"""

import collections
import importlib.util
import json
import pathlib
import sys

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "oracle" / "gpu_oracle.py"
STEP = "ProfilerStep#"


def load_oracle():
    spec = importlib.util.spec_from_file_location("gpu_oracle", ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    oracle = load_oracle()
    trace = oracle.load(sys.argv[1])
    events = oracle.events_of(trace)
    names = collections.defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            count = names[event["name"]]
            count[0] += 1
            count[1] += int(oracle.nanoseconds(event["dur"]))
    gpu_time = []
    for row in oracle.analyse(trace)["gpu_time"]:
        times = {key: round(value * 1e6) for key, value in row.items() if key.endswith("_ms")}
        gpu_time.append({"device": row["device"], **times})
    steps = sorted(
        int(event["name"][len(STEP) :])
        for event in events
        if event.get("ph") == "X" and event.get("cat") == "user_annotation" and event["name"].startswith(STEP)
    )
    print(json.dumps({"events": len(events), "gpu_time_ns": gpu_time, "tasks_by_name": names, "steps": steps}))


if __name__ == "__main__":
    main()
