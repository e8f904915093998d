"""Makes the ranks of a job from one rank's real trace, with separate clocks and a straggler."""
import gzip
import json


def load(path):
    with gzip.open(path) as file:
        return json.load(file)


def collectives(trace):
    """Returns the kernels that all ranks run together, by start."""

    def is_one(event):  # AMD's library gives all its kernels the same name.
        return (
            "AllReduce" in event["name"] or str(event.get("args", {}).get("Collective name", "")).lower() == "allreduce"
        )

    return sorted((e for e in trace["traceEvents"] if e.get("cat") == "kernel" and is_one(e)), key=lambda e: e["ts"])


def lost_us(trace, late_us):
    """Returns the time that a rank loses to a straggler that is `late_us` late at each of its collectives. This is the
    lateness, limited to the part of the collective that the rank's computation leaves exposed."""
    computing = sorted(
        (e["ts"], e["ts"] + e["dur"])
        for e in trace["traceEvents"]
        if e.get("cat") == "kernel" and "nccl" not in e["name"]
    )
    lost = 0
    for collective in collectives(trace):
        start, end, hidden = collective["ts"], collective["ts"] + collective["dur"], 0
        for begin, stop in computing:
            hidden += max(0, min(stop, end) - max(begin, start))
            start = max(start, min(stop, end))  # Overlapping work counts once.
        lost += min(late_us, 0.9 * collective["dur"], collective["dur"] - hidden)
    return lost


def make_rank(trace, rank, world, offset_us=0.0, drift=0.0, late_us=0.0, late_in=lambda index: True):
    """Returns the trace from the view of rank `rank` of `world`.

    Its clock is ahead by `offset_us` and runs faster by `drift`. Where `late_in(index)` holds, its collective kernels
    start `late_us` later and end at the same time as on all ranks. The events are copies, but share their args with
    `trace`, except for collectives.
    """
    events = [{**event} for event in trace["traceEvents"]]
    info = {**trace.get("distributedInfo", {}), "rank": rank, "world_size": world}
    made = {**trace, "distributedInfo": info, "traceEvents": events}
    for index, event in enumerate(collectives(made)):
        event["args"] = {**event.get("args", {})}
        if late_us and late_in(index):
            late = min(late_us, 0.9 * event["dur"])
            event["ts"] = round(event["ts"] + late, 3)
            event["dur"] -= late
    if offset_us or drift:
        first = min(e["ts"] for e in events if "ts" in e)
        for event in events:
            if "ts" in event:
                event["ts"] = round(first + (event["ts"] - first) * (1 + drift) + offset_us, 3)
    for event in events:
        if "Group size" in event.get("args", {}):
            event["args"] = {**event["args"], "Group size": world}
    return made


def packed(trace):
    return gzip.compress(json.dumps(trace).encode(), compresslevel=1)


def write(trace, path):
    path.write_bytes(packed(trace))
    return path
