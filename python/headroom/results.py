"""Results of the command line as objects: dicts with attributes, HTML for notebooks, DataFrames and plots.

    report = headroom.report("trace.json.gz")
    report.bottleneck.verdict                 # the same as report["bottleneck"]["verdict"]
    report                                    # in a notebook: verdict, figures, the bar of the step, what to do
    report.to_pandas("kernels")               # a DataFrame of one list
    headroom.whatif("trace.json.gz").plot()   # by matplotlib

A result is a dict, like the parsed JSON. Keys, units and nulls are those of docs/schema/.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from headroom import _html

__all__ = ["Comparison", "Forecasts", "Loading", "Prediction", "Report", "Result", "Row", "Scaling"]

_HARDWARE = ("gpu-speed", "host-speed", "network-speed")  # Scenarios of other machines.
_PARTS = ("forward", "backward", "optimizer", "data_wait", "host_to_device", "communication", "callback", "other")


class Row(dict[str, Any] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """An object of the JSON. Its keys are attributes too, unless dict itself has one of that name, such as `items`."""

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"no {key!r}; the keys are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _rows(value: Any) -> Any:
    if isinstance(value, dict):
        return Row({key: _rows(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return [_rows(inner) for inner in value]
    return value


class Result(Row):
    """An answer. `str()` is its headline; `to_dict()` returns a plain dict."""

    _LIST: ClassVar[str] = ""  # The list that to_pandas() takes by default.

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__({key: _rows(value) for key, value in answer.items()})

    def to_dict(self) -> dict[str, Any]:
        """Returns the plain JSON object, a copy."""
        plain: dict[str, Any] = json.loads(json.dumps(self))
        return plain

    def to_pandas(self, key: str | None = None) -> Any:
        """Returns one list of the answer as a DataFrame; inner objects become columns such as `step_ms.mid`.

        key: name of a list; default: the main list. Raises KeyError if the key is not a list. Requires pandas.
        """
        from headroom.arrays import pandas

        key = self._LIST if key is None else key
        if not isinstance(self.get(key), list):
            lists = ", ".join(name for name, value in self.items() if isinstance(value, list))
            raise KeyError(f"{key!r} is not a list of {type(self).__name__}; its lists are {lists}")
        return pandas().json_normalize(self.to_dict()[key])

    def headline(self) -> str:
        """Returns the headline."""
        return str(self.get("schema", "an answer"))

    def __str__(self) -> str:
        return self.headline()

    def __repr__(self) -> str:
        return f"<headroom.{type(self).__name__}: {self.headline()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.to_dict(),)


class Report(Result):
    """The limit of the job (headroom.report/1, docs/report.md)."""

    _LIST = "findings"

    def headline(self) -> str:
        """Returns the verdict as the text report says it, and the time of a step."""
        times = self["steps"]["corrected_step_ms"]
        verdict: str = self["bottleneck"]["sentence"]
        return f"{verdict} Step {_html.ms(times['mid'])} without the profiler." if times else verdict

    def parts(self) -> dict[str, float]:
        """Returns the parts of the mean step in ms; they sum to the step time. Empty if the trace has no whole step."""
        split = self["step_breakdown"]
        return {name: split[f"{name}_ms"] for name in _PARTS} if split else {}

    def plot(self, ax: Any = None) -> Any:
        """Draws the parts of a step as one stacked bar. Returns matplotlib's axes."""
        from headroom import _plots

        return _plots.stacked(self.parts(), ax)

    def _repr_html_(self) -> str:
        steps, ranks = self["steps"], len(self["inputs"])
        times = steps["corrected_step_ms"]
        efficiency, throughput, memory = self["efficiency"] or {}, self["throughput"] or {}, self["memory"] or {}
        peaks = [row["peak_bytes"] for row in memory.get("devices", []) if row["device"] is not None]  # Only GPUs.
        whole = [step for step in steps["list"] if step["whole"] and step["wall_ms"]]
        busy, wall = (sum(step[key] or 0 for step in whole) for key in ("gpu_busy_ms", "wall_ms"))
        rate, mfu = throughput.get("samples_per_s"), efficiency.get("mfu_pct")
        findings = [
            (
                f"<b>{_html.escape(row['title'])}</b><br>{_html.escape(row['action'])}",
                _html.interval(row["saves_ms"], row["saves_note"].startswith("at most")) if row["saves_ms"] else "",
            )
            for row in self["findings"][:5]
        ]
        return _html.block(
            _html.head(
                _html.escape(self["bottleneck"]["sentence"]),
                _html.escape("; ".join(self["bottleneck"]["evidence"][:2])),
            ),
            _html.figures(
                [
                    ("step without the profiler", _html.interval(times) if times else ""),
                    ("GPU busy", f"{100 * busy / wall:.0f} %" if busy and wall else ""),
                    ("MFU", f"{mfu:.3g} %" if mfu is not None else ""),
                    ("peak GPU memory", _html.gib(max(peaks, default=None))),
                    ("samples/s", f"{rate:.4g}" if rate else ""),
                    ("ranks", str(ranks) if ranks > 1 else ""),
                    ("grade of the trace", _html.escape(self["health"]["grade"])),
                ]
            ),
            _html.bar([(name.replace("_", " "), value) for name, value in self.parts().items()]),
            _html.table(("what to do", "saves per step"), findings, numbers=(1,)) if findings else "",
        )


class Forecasts(Result):
    """Forecasts of changes (headroom.whatif/1, docs/scenarios.md)."""

    _LIST = "scenarios"

    def headline(self) -> str:
        """Returns the step time and the change that saves most. Faster hardware does not count."""
        step = f"step {_html.ms(self['baseline']['corrected_step_ms'])}"
        changes = [row for row in self["scenarios"] if row["saves_ms"] and not row["name"].startswith(_HARDWARE)]
        best = max(changes, key=lambda row: float(row["saves_ms"]), default=None)
        if best is None and len(self["scenarios"]) == 1 and not self["scenarios"][0]["applies"]:
            return f"{step}; {self['scenarios'][0]['name']}: no forecast: {self['scenarios'][0]['why']}"
        if best is None or best["saves_ms"] <= 0:
            return f"{step}; no change saves time"
        return f"{step}; {best['name']} saves {'up to ' if best['upper_bound'] else ''}{_html.ms(best['saves_ms'])}"

    def plot(self, ax: Any = None) -> Any:
        """Draws the step time of each scenario with its interval. Returns matplotlib's axes."""
        from headroom import _plots

        rows = [(row["name"], row["step_ms"]) for row in self["scenarios"]]
        return _plots.intervals(rows, self["baseline"]["corrected_step_ms"], "step without the change", ax)

    def _repr_html_(self) -> str:
        rows = [
            (
                _html.escape(row["name"]),
                _html.interval(row["step_ms"]),
                f"{'up to ' if row['upper_bound'] else ''}{row['speedup']:.2f}&times;" if row["speedup"] else "",
                _html.escape(row["why"]),
            )
            for row in self["scenarios"]
        ]
        return _html.block(
            _html.head(_html.escape(self.headline())),
            _html.table(("change", "step", "speedup", "why"), rows, numbers=(1, 2)),
        )


class Prediction(Result):
    """The job on other GPUs (headroom.predict/1, docs/predict.md)."""

    _LIST = "targets"

    def headline(self) -> str:
        """Returns the fastest GPU."""
        known = [row for row in self["targets"] if (row["step_ms"] or {}).get("mid")]
        if not known:
            return "no forecast for these GPUs"
        if len({row["workload"] for row in known}) > 1:
            return f"{len(known)} forecasts of several jobs"
        best = min(known, key=lambda row: float(row["step_ms"]["mid"]))
        return f"fastest: {best['gpu']}, step {_html.ms(best['step_ms']['mid'])}"

    def plot(self, ax: Any = None) -> Any:
        """Draws the step time of each GPU with its interval. Returns matplotlib's axes."""
        from headroom import _plots

        baseline = self["baseline"]
        return _plots.intervals(
            [(" ".join(filter(None, (row["workload"], row["gpu"]))), row["step_ms"]) for row in self["targets"]],
            baseline["step_ms"] if baseline else None,
            f"recorded on {self['source_gpu'] or 'an unknown GPU'}",
            ax,
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                _html.escape(" ".join(filter(None, (row["workload"], row["name"] or row["gpu"])))),
                _html.interval(row["step_ms"]),
                f"{row['speedup']:.2f}&times;" if row["speedup"] else "",
                "" if row["memory_bytes"] is None else _html.gib(row["memory_bytes"]),
                {True: "yes", False: "<b>no</b>"}.get(row["fits"], ""),
                f"{row['energy_joules']:.3g} J" if row.get("energy_joules") else "",
                f"{row['money']:.2f} {_html.escape(row['currency'])}" if row.get("money") else "",
            )
            for row in self["targets"]
        ]
        columns = ("GPU", "step", "speedup", "peak memory", "fits", "energy", "cost")
        return _html.block(
            _html.head(_html.escape(self.headline())), _html.table(columns, rows, numbers=(1, 2, 3, 5, 6))
        )


class Scaling(Result):
    """The job on more GPUs (headroom.scale/1, docs/scale.md)."""

    _LIST = "points"

    def headline(self) -> str:
        """Returns the efficiency at the largest number of GPUs."""
        points = [row for row in self["points"] if row["efficiency_pct"] is not None]
        if not points:
            return "no forecast: " + (self["why"] or "the trace lacks data")
        last = max(points, key=lambda row: int(row["gpus"]))
        return f"{last['gpus']} GPUs: efficiency {last['efficiency_pct']:.0f} %, limited by {last['limited_by']}"

    def plot(self, ax: Any = None) -> Any:
        """Draws throughput over GPUs, with the line of perfect scaling. Returns matplotlib's axes."""
        from headroom import _plots

        return _plots.scaling(self["points"], ax)

    def _repr_html_(self) -> str:
        rows = [
            (
                str(row["gpus"]),
                str(row["nodes"]),
                _html.escape(row["cluster"] or (f"{row['bandwidth_gbps']:g} Gbit/s" if row["bandwidth_gbps"] else "")),
                _html.interval(row["step_ms"]),
                "" if row["efficiency_pct"] is None else f"{row['efficiency_pct']:.0f} %",
                "" if row["exposed_communication_ms"] is None else _html.ms(row["exposed_communication_ms"]),
                _html.escape(row["limited_by"] or row["why"]),
            )
            for row in self["points"]
        ]
        columns = ("GPUs", "machines", "network", "step", "efficiency", "exposed communication", "limited by")
        return _html.block(
            _html.head(_html.escape(self.headline())), _html.table(columns, rows, numbers=(0, 1, 3, 4, 5))
        )


def _part(row: Row) -> str:
    """Returns the display name of a part."""
    name: str = row["part"]
    return name if row["is_operator"] else name.replace("_", " ")


class Comparison(Result):
    """What changed between two runs (headroom.diff/1, docs/diff.md)."""

    _LIST = "account"

    @property
    def passed(self) -> bool | None:
        """True if the gate's verdict is `pass`, False for any other verdict, None without a gate."""
        return None if self["gate"] is None else self["gate"]["verdict"] == "pass"

    def headline(self) -> str:
        """Returns the change of the step time, and whether the runs are comparable."""
        change = self["step_ms"]
        words = f"step {_html.ms(change['a'])} to {_html.ms(change['b'])}"
        if change["change_pct"] is not None:
            words += f" ({change['change_pct']:+.1f} %)"
        if change["noise"]:
            words += ", within the noise"
        if not self["comparable"]:
            words += "; the runs are not comparable"
        return words if self["gate"] is None else f"{words}; gate: {self['gate']['verdict']}"

    def plot(self, ax: Any = None) -> Any:
        """Draws a waterfall chart from A to B with the parts that changed most. Returns matplotlib's axes."""
        from headroom import _plots

        return _plots.waterfall(
            self["step_ms"]["a"], [(_part(row), row["change_ms"]) for row in self["account"]], self["step_ms"]["b"], ax
        )

    def _repr_html_(self) -> str:
        account = sorted(self["account"], key=lambda row: -abs(float(row["change_ms"])))
        rows = [
            (_html.escape(_part(row)), _html.ms(row["a_ms"]), _html.ms(row["b_ms"]), f"{row['change_ms']:+.3g} ms")
            for row in account
            if row["change_ms"]
        ]
        blocking = [
            f"{_html.escape(fact['name'])}: {_html.escape(fact['a'])} and {_html.escape(fact['b'])}"
            for fact in self["facts"]
            if fact["blocks"] and fact["state"] == "different"
        ]
        return _html.block(
            _html.head(_html.escape(self.headline()), "; ".join(blocking)),
            _html.table(("part of the step", "A", "B", "change"), rows, numbers=(1, 2, 3)),
        )


class Loading(Result):
    """What limits the input pipeline (headroom.data/1, docs/data.md)."""

    _LIST = "stages"

    def headline(self) -> str:
        """Returns the share of the step that waits for data, and the best setting."""
        loop, forecast = self["loop"] or {}, self["forecast"] or {}
        share = loop.get("wait_share_pct")
        words = {"none": "not input-bound", "unknown": "limit of the loop unknown"}.get(
            self["bound"], f"bound by {self['bound']}"
        )
        if share is not None:
            words += f"; {share:.0f} % of the loop waits for data"
        return words + (f"; best setting: {forecast['best']}" if forecast.get("best") else "")

    def _repr_html_(self) -> str:
        forecast = self["forecast"] or {}
        stages = [
            (
                _html.escape(row["name"] or row["kind"].replace("_", " ")),
                _html.ms(row["own_ms"]),
                f"{row['share_pct']:.0f} %",
            )
            for row in self["stages"]
        ]
        options = [
            (_html.escape(row["setting"]), _html.interval(row["step_ms"]))
            for row in [*forecast.get("asked", []), *forecast.get("options", [])]
        ]
        return _html.block(
            _html.head(_html.escape(self.headline()), _html.escape(self["no_forecast"])),
            _html.table(("stage", "own time", "share"), stages, numbers=(1, 2)),
            _html.table(("setting", "step"), options, numbers=(1,)) if options else "",
        )
