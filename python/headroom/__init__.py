"""Headroom: where the time of a training step goes, and what a change would buy.

    import headroom

    graph = headroom.Graph("trace.json.gz")                 # a PyTorch-profiler trace
    graph.select(family="matmul").scale(1 / 3)              # edits lie on top of the recorded job ...
    print(graph.step_ms, "->", graph.replay().step_ms)      # ... and a replay tells what they buy
    graph.reset()

    graph.whatif("amp:dtype=bf16")                          # a scenario of `headroom whatif`, as a dict
    headroom.report("trace.json.gz")["bottleneck"]          # `headroom report --json`, as a dict
    headroom.load("trace.json.gz").tables.gpu_tasks         # the tables of `headroom query` as numpy columns

    with headroom.scope("FORWARD"):                         # times a region, here and in `headroom record`
        ...
    headroom.stats("FORWARD").mean_s

Times are in the unit that a name ends in: `_ms`, `_us`, `_ns`. A request that cannot be met raises ValueError, a file
that cannot be read or is no trace raises TraceError, a scenario that the trace cannot answer raises DoesNotApply, each
with the message of the command line. Reading and replaying release the GIL. docs/python.md has the rules and five
worked examples.

Nothing is loaded before it is used: measuring needs no numpy and runs in every CPython from 3.9 on, also where the
engine (`Graph`, `report`, ...) was built for another one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Iterable

from headroom._requirements import needed_by

if TYPE_CHECKING:
    # "as" exports a name to type checkers, like a place in __all__; flake8 does not know that (F401).
    from headroom import callbacks as callbacks  # noqa: F401
    from headroom import data as data  # noqa: F401
    from headroom import timer as timer  # noqa: F401
    from headroom import torch as torch  # noqa: F401
    from headroom._engine import DoesNotApply, TraceError
    from headroom._summary import log_summary, summary
    from headroom._timer import (
        Drops,
        Scope,
        Stats,
        begin,
        counter,
        drops,
        enable,
        enabled,
        end,
        gradient,
        keys,
        mark,
        recorded,
        scope,
        stats,
        step,
    )
    from headroom._timer import __version__ as __version__  # noqa: F401
    from headroom._trace_file import Path
    from headroom.arrays import NullableArray, TextColumn
    from headroom.columns import Edges, Gradients, Task, Tasks
    from headroom.graph import Channel, CriticalPath, Graph, Replay, Selection
    from headroom.query_result import QueryResult
    from headroom.tables import Table, Tables
    from headroom.timer import CPUGPUTimer, Timer, TimeStats, TimeType
    from headroom.trace import Trace

__all__ = [
    "CPUGPUTimer",
    "Channel",
    "CriticalPath",
    "DoesNotApply",
    "Drops",
    "Edges",
    "Gradients",
    "Graph",
    "NullableArray",
    "QueryResult",
    "Replay",
    "Scope",
    "Selection",
    "Stats",
    "Table",
    "Tables",
    "Task",
    "Tasks",
    "TextColumn",
    "TimeStats",
    "TimeType",
    "Timer",
    "Trace",
    "TraceError",
    "begin",
    "counter",
    "drops",
    "enable",
    "enabled",
    "end",
    "gradient",
    "keys",
    "load",
    "log_summary",
    "mark",
    "recorded",
    "report",
    "scope",
    "stats",
    "step",
    "summary",
    "whatif",
]

_MODULES = {
    "_engine": ("DoesNotApply", "TraceError"),
    "_summary": ("log_summary", "summary"),
    "_timer": (
        "__version__",
        "Drops",
        "Scope",
        "Stats",
        "begin",
        "counter",
        "drops",
        "enable",
        "enabled",
        "end",
        "gradient",
        "keys",
        "mark",
        "recorded",
        "scope",
        "stats",
        "step",
    ),
    "_trace_file": ("Path",),
    "arrays": ("NullableArray", "TextColumn"),
    "columns": ("Edges", "Gradients", "Task", "Tasks"),
    "graph": ("Channel", "CriticalPath", "Graph", "Replay", "Selection"),
    "query_result": ("QueryResult",),
    "tables": ("Table", "Tables"),
    "timer": ("CPUGPUTimer", "TimeStats", "TimeType", "Timer"),
    "trace": ("Trace",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = ("callbacks", "data", "timer", "torch")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"headroom.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'headroom' has no attribute {name!r}")
    with needed_by(name):
        value = getattr(importlib.import_module(f"headroom.{_HOMES[name]}"), name)
    globals()[name] = value  # From now on without this function.
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_SUBMODULES})


def load(path: Path) -> Trace:
    """Reads a trace (.json, .json.gz or .json.zst) once, for several questions: `.report()`, `.whatif()`, `.Graph()`,
    `.tables`, `.query()`.
    """
    trace: Trace = __getattr__("Trace")(path)  # Which says what is missing.
    return trace


def report(path: Path, *, rank: int | None = None, **options: Any) -> dict[str, Any]:
    """What holds the job back: the object of `headroom report --json` (headroom.report/1, docs/report.md).

    rank: of a file that does not say its own; options: as of Graph.
    """
    return load(path).report(rank=rank, **options)


def whatif(path: Path, scenarios: Iterable[str] = (), **options: Any) -> dict[str, Any]:
    """What changes would buy: the object of `headroom whatif --json` (headroom.whatif/1).

    scenarios: "NAME[:key=value,...]", "A+B" for both at once; one row each in `["scenarios"]`, in this order. None: all
    that apply, by what they save. options: as of Graph.
    """
    return load(path).whatif(scenarios, **options)
