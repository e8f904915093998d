"""Headroom shows where a training step spends its time and forecasts what a change would save.

    import headroom

    graph = headroom.Graph("trace.json.gz")                 # a PyTorch-profiler trace
    graph.select(family="matmul").scale(1 / 3)              # an edit; the recorded job does not change
    print(graph.step_ms, "->", graph.replay().step_ms)      # a replay forecasts its effect
    graph.reset()

    graph.whatif("amp:dtype=bf16")                          # a scenario of `headroom whatif`, as a dict
    headroom.report("trace.json.gz").bottleneck.verdict     # `headroom report --json`: a dict with attributes
    headroom.predict("trace.json.gz", gpu=["H100", "L4"])   # so are predict, scale, diff and data (docs/notebooks.md)
    headroom.load("trace.json.gz").tables.gpu_tasks         # the tables of `headroom query` as numpy columns
    headroom.load("trace.json.gz").show()                   # the page, in a notebook

    with headroom.scope("FORWARD"):                         # times a region, here and in `headroom record`
        ...
    headroom.stats("FORWARD").mean_s

The suffix of a name states its unit: `_ms`, `_us`, `_ns`. An invalid request raises ValueError. A file that is
unreadable or not a trace raises TraceError. A scenario that the trace lacks data for raises DoesNotApply. The messages
are those of the command line. Reading and replaying release the GIL. docs/python.md has the rules and five worked
examples.

Each part loads at its first use and runs in every CPython from 3.9 on. Only columns, tables and graphs require numpy.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Iterable

from headroom._requirements import needed_by

if TYPE_CHECKING:
    # "as" exports a name to type checkers, as a place in __all__ does. flake8 does not support this form (F401).
    from headroom import callbacks as callbacks  # noqa: F401
    from headroom import answers as answers  # noqa: F401
    from headroom import operators as operators  # noqa: F401
    from headroom import timer as timer  # noqa: F401
    from headroom import torch as torch  # noqa: F401
    from headroom._errors import DoesNotApply, TraceError
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
    from headroom.answers import diff, predict, predict_kernels, scale
    from headroom.answers import slice as slice  # noqa: F401
    from headroom.arrays import NullableArray, TextColumn
    from headroom.columns import Edges, Gradients, Task, Tasks
    from headroom.data_module import DataModule
    from headroom.graph import Channel, CriticalPath, Graph, Replay, Selection
    from headroom._page import Page, page
    from headroom.query_result import QueryResult
    from headroom.results import Comparison, Forecasts, Loading, Prediction, Report, Result, Scaling
    from headroom.tables import Table, Tables
    from headroom.timer import CPUGPUTimer, Timer, TimeStats, TimeType
    from headroom.trace import Trace

    data: DataModule

__all__ = [
    "CPUGPUTimer",
    "Channel",
    "Comparison",
    "CriticalPath",
    "DoesNotApply",
    "Drops",
    "Edges",
    "Forecasts",
    "Gradients",
    "Graph",
    "Loading",
    "NullableArray",
    "Page",
    "Prediction",
    "QueryResult",
    "Replay",
    "Report",
    "Result",
    "Scaling",
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
    "diff",
    "drops",
    "enable",
    "enabled",
    "end",
    "gradient",
    "keys",
    "load",
    "log_summary",
    "mark",
    "page",
    "predict",
    "predict_kernels",
    "recorded",
    "report",
    "scale",
    "scope",
    "stats",
    "step",
    "summary",
    "whatif",
]

_MODULES = {
    "_errors": ("DoesNotApply", "TraceError"),
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
    "answers": ("diff", "predict", "predict_kernels", "scale", "slice"),
    "arrays": ("NullableArray", "TextColumn"),
    "columns": ("Edges", "Gradients", "Task", "Tasks"),
    "graph": ("Channel", "CriticalPath", "Graph", "Replay", "Selection"),
    "_page": ("Page", "page"),
    "query_result": ("QueryResult",),
    "results": ("Comparison", "Forecasts", "Loading", "Prediction", "Report", "Result", "Scaling"),
    "tables": ("Table", "Tables"),
    "timer": ("CPUGPUTimer", "TimeStats", "TimeType", "Timer"),
    "trace": ("Trace",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = ("answers", "callbacks", "data", "operators", "timer", "torch")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"headroom.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'headroom' has no attribute {name!r}")
    with needed_by(name):
        value = getattr(importlib.import_module(f"headroom.{_HOMES[name]}"), name)
    globals()[name] = value  # Later accesses bypass this function.
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_SUBMODULES})


def load(path: Path) -> Trace:
    """Reads a trace (.json, .json.gz or .json.zst) once, for several analyses: `.report()`, `.whatif()`, `.Graph()`,
    `.tables`, `.query()`.
    """
    trace: Trace = __getattr__("Trace")(path)  # Raises an ImportError that names the missing package.
    return trace


def _loaded(trace: Path | Trace) -> Trace:
    if isinstance(trace, (str, bytes, os.PathLike)):
        return load(trace)
    if not hasattr(trace, "report"):
        raise TypeError(f"requires a path or a loaded trace, not {type(trace).__name__}")
    return trace


def report(path: Path | Trace, *, rank: int | None = None, **options: Any) -> Report:
    """Returns the object of `headroom report --json` (headroom.report/1, docs/report.md), which shows what limits the
    job: a dict with attributes that a notebook shows as a summary.

    rank: the rank of a file that does not state its own; options: as for Graph.
    """
    return _loaded(path).report(rank=rank, **options)


def whatif(path: Path | Trace, scenarios: Iterable[str] = (), **options: Any) -> Forecasts:
    """Returns the object of `headroom whatif --json` (headroom.whatif/1): forecasts of scenarios.

    scenarios: "NAME[:key=value,...]", or "A+B" for both at once; `["scenarios"]` of the result has one row per
    scenario, in this order. Without scenarios: all that apply, sorted by the time that they save. options: as for
    Graph.
    """
    return _loaded(path).whatif(scenarios, **options)
