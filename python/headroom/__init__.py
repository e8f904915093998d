"""Headroom: where the time of a training step goes, and what a change would buy.

    import headroom

    graph = headroom.Graph("trace.json.gz")                 # a PyTorch-profiler trace
    graph.select(family="matmul").scale(1 / 3)              # edits lie on top of the recorded job ...
    print(graph.step_ms, "->", graph.replay().step_ms)      # ... and a replay tells what they buy
    graph.reset()

    graph.whatif("amp:dtype=bf16")                          # a scenario of `headroom whatif`, as a dict
    headroom.report("trace.json.gz")["bottleneck"]          # `headroom report --json`, as a dict

Times are in the unit that a name ends in: `_ms`, `_us`, `_ns`. A request that cannot be met raises ValueError, a file that
cannot be read or is no trace raises TraceError, a scenario that the trace cannot answer raises DoesNotApply, each with the
message of the command line. Reading and replaying release the GIL. docs/python.md has the rules and five worked examples.
"""

from __future__ import annotations

from typing import Any, Iterable

from headroom._engine import DoesNotApply, TraceError, __version__
from headroom.columns import Edges, Gradients, Task, Tasks
from headroom.graph import Channel, CriticalPath, Graph, Replay, Selection
from headroom.trace import Path, Trace

__all__ = ["Channel", "CriticalPath", "DoesNotApply", "Edges", "Gradients", "Graph", "Replay", "Selection", "Task", "Tasks",
           "Trace", "TraceError", "load", "report", "whatif"]


def load(path: Path) -> Trace:
    """Reads a trace (.json, .json.gz or .json.zst) once, for several questions: `.report()`, `.whatif()`, `.Graph()`."""
    return Trace(path)


def report(path: Path, *, rank: int | None = None, **options: Any) -> dict[str, Any]:
    """What holds the job back: the object of `headroom report --json` (headroom.report/1, docs/report.md).

    rank: of a file that does not say its own; options: as of Graph.
    """
    return load(path).report(rank=rank, **options)


def whatif(path: Path, scenarios: Iterable[str] = (), **options: Any) -> dict[str, Any]:
    """What changes would buy: the object of `headroom whatif --json` (headroom.whatif/1).

    scenarios: "NAME[:key=value,...]", "A+B" for both at once; one row each in `["scenarios"]`, in this order. None: all that
    apply, by what they save. options: as of Graph.
    """
    return load(path).whatif(scenarios, **options)
