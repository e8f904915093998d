"""Converts the main figures of a report to flat metrics and logs them to experiment trackers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Union

from headroom._requirements import needed_by
from headroom._trackers import tracker_of

if TYPE_CHECKING:
    from headroom._trace_file import Path
    from headroom.trace import Trace

    Summarized = Union[Mapping[str, Any], Trace, Path]

_SCHEMA = "headroom.report/"
_STEP_TIMES = ("p50", "mean", "min", "max")
_PARTS = ("data_wait", "host_to_device", "forward", "backward", "optimizer", "communication", "callback", "other")
_GPU_STATES = ("span", "busy", "compute", "communication", "memory", "exposed_communication", "exposed_memory", "idle")
_IDLE_CAUSES = ("host_wait", "kernel_wait", "other")


def _report_of(what: Summarized) -> Mapping[str, Any]:
    if isinstance(what, Mapping):
        if not str(what.get("schema", "")).startswith(_SCHEMA):
            raise ValueError(
                "not a report: pass the result of headroom.report() or `headroom report --json`, "
                "a headroom.Trace, or the path of a trace"
            )
        if len(what["inputs"]) > 1:
            raise ValueError(
                f"the report covers {len(what['inputs'])} traces of several ranks; log the report of one trace"
            )
        return what
    if isinstance(what, (str, os.PathLike)):
        with needed_by("Trace"):
            from headroom.trace import Trace
        return Trace(what).report()
    return what.report()


def summary(report: Summarized) -> Dict[str, float]:
    """Returns the main figures of a report, under the names of `headroom export --to openmetrics` (docs/export.md).

    report: the result of headroom.report(), a headroom.Trace, or the path of a trace.

    Label values follow the metric's name: `headroom_step_seconds/p50`, `headroom_gpu_time_seconds/0/busy` (device 0),
    `headroom_finding_share_ratio/data-loading`. Times are in seconds; shares are from 0 to 1. Unknown figures are left
    out.

    Raises ValueError if `report` is not a report, or covers several traces.
    """
    content = _report_of(report)
    out: Dict[str, float] = {}

    def put(name: str, value: Optional[float], divisor: float, *labels: Any) -> None:
        if value is not None:
            out["/".join(["headroom_" + name, *("" if label is None else str(label) for label in labels)])] = (
                value / divisor
            )

    steps = content["steps"]
    put("steps", steps["count"], 1)
    for stat in _STEP_TIMES:
        put("step_seconds", steps[f"{stat}_ms"], 1e3, stat)
    put("step_corrected_seconds", (steps["corrected_step_ms"] or {}).get("mid"), 1e3)
    put("profiler_overhead_ratio", steps["profiler_overhead_pct"], 100)
    whole = [step for step in steps["list"] if step["whole"]]
    busy, wall = (sum(step[key] or 0 for step in whole) for key in ("gpu_busy_ms", "wall_ms"))
    put("step_gpu_busy_ratio", busy / wall if busy and wall else None, 1)
    for part in _PARTS if content["step_breakdown"] else ():
        put("step_part_seconds", content["step_breakdown"][f"{part}_ms"], 1e3, part)
    put("mfu_ratio", content["efficiency"]["mfu_pct"], 100)
    for row in content["gpu_time"]:
        for state in _GPU_STATES:
            put("gpu_time_seconds", row[f"{state}_ms"], 1e3, row["device"], state)
    for row in content["idle"]:
        for cause in _IDLE_CAUSES:
            put("gpu_idle_seconds", row[f"{cause}_ms"], 1e3, row["device"], row["stream"], cause)
    put("samples_per_second", (content["throughput"] or {}).get("samples_per_s"), 1)
    for finding in content["findings"]:
        put("finding_share_ratio", finding["share_pct"], 100, finding["id"])
    for issue in content["health"]["issues"]:
        put("health_issue_count", issue["count"], 1, issue["code"])
    return out


def log_summary(report: Summarized, run: Any, step: Optional[int] = None) -> Dict[str, float]:
    """Logs the main figures of a report and returns them, as summary() does.

    report: as for summary().
    run: Weights & Biases (a run, or the module `wandb`), MLflow (the module `mlflow`), or a TensorBoard
    `SummaryWriter`.
    step: the training step of the figures; None: the default of `run`.

        headroom.log_summary("trace.json.gz", wandb.run)

    Raises TypeError if `run` is another type, the errors of summary(), and those of `run`. Logs nothing if the report
    fails.
    """
    tracker = tracker_of(run)
    metrics = summary(report)
    tracker.metrics(metrics, step)
    return metrics
