"""Ranks of a job, made of one rank's real trace: clocks of their own, and one that comes late."""
import copy
import gzip
import json


def load(path):
    with gzip.open(path) as file:
        return json.load(file)


def collectives(trace):
    """Its kernels that all ranks run together, by start."""

    def is_one(event):  # AMD's library calls all its kernels alike.
        return (
            "AllReduce" in event["name"] or str(event.get("args", {}).get("Collective name", "")).lower() == "allreduce"
        )

    return sorted((e for e in trace["traceEvents"] if e.get("cat") == "kernel" and is_one(e)), key=lambda e: e["ts"])


def lost_us(trace, late_us):
    """What a rank of this trace loses by one that is late by `late_us` at each of its collectives: the lateness, of
    which no more than what the rank's own computing leaves exposed of the collective."""
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
            start = max(start, min(stop, end))  # What runs side by side counts once.
        lost += min(late_us, 0.9 * collective["dur"], collective["dur"] - hidden)
    return lost


def make_rank(trace, rank, world, offset_us=0.0, drift=0.0, late_us=0.0, late_in=lambda index: True):
    """A copy as rank `rank` of `world` saw it: all stamps on a clock that is ahead by `offset_us` and runs faster by
    `drift`; its kernels of collectives begin `late_us` later (and end with all others') where `late_in(index)`."""
    made = copy.deepcopy(trace)
    made["distributedInfo"] = {**made.get("distributedInfo", {}), "rank": rank, "world_size": world}
    for index, event in enumerate(collectives(made)):
        if late_us and late_in(index):
            late = min(late_us, 0.9 * event["dur"])
            event["ts"] += late
            event["dur"] -= late
    first = min(e["ts"] for e in made["traceEvents"] if "ts" in e)
    for event in made["traceEvents"]:
        if "ts" in event:
            event["ts"] = round(first + (event["ts"] - first) * (1 + drift) + offset_us, 3)
        args = event.get("args", {})
        if "Group size" in args:
            args["Group size"] = world
    return made


def write(trace, path):
    with gzip.open(path, "wt", compresslevel=1) as file:
        json.dump(trace, file)
    return path
