"""A trace file and its analyses."""

from __future__ import annotations

import json
import os
import pathlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from headroom import answers
from headroom._requirements import needed_by
from headroom._trace_file import Path, TraceFile, record
from headroom._page import Page, page
from headroom.results import Comparison, Forecasts, Loading, Prediction, Report, Scaling

if TYPE_CHECKING:
    from headroom.answers import Traces
    from headroom._table_columns import Tables as TablesOfTrace
    from headroom.graph import Graph as GraphType
    from headroom.query_result import QueryResult


class Trace(TraceFile):
    """A trace file that is read once. Immutable; threads may share it."""

    def report(
        self,
        *,
        rank: int | None = None,
        steps: tuple[int, int] | None = None,
        step_marker: str = "",
        measured_step_ms: float | None = None,
        calibration: Path = "",
        local_state: bool = True,
    ) -> Report:
        """Returns the report, as headroom.report() does."""
        answer = json.loads(
            self._engine.report_json(
                steps=steps,
                step_marker=step_marker,
                rank=rank,
                measured_step_ms=measured_step_ms,
                calibration=os.fspath(calibration),
                local_state=local_state,
            )
        )
        return Report(answer)

    def whatif(self, scenarios: Iterable[str] = (), **options: Any) -> Forecasts:
        """Returns forecasts, as headroom.whatif() does."""
        return Forecasts(json.loads(record(self, **options).whatif_json(names_of(scenarios))))

    def predict(self, *, gpu: str | Sequence[str], **flags: Any) -> Prediction:
        """Returns the job on other GPUs, as headroom.predict() does."""
        return answers.predict(self, gpu=gpu, **flags)

    def scale(self, *, gpus: int | str | Sequence[int | str], **flags: Any) -> Scaling:
        """Returns the job on more GPUs, as headroom.scale() does."""
        return answers.scale(self, gpus=gpus, **flags)

    def diff(self, other: Traces, **flags: Any) -> Comparison:
        """Returns what changed from this trace to another one, as headroom.diff() does."""
        return answers.diff(self, other, **flags)

    def data(self, changes: str | Sequence[str] = (), **flags: Any) -> Loading:
        """Returns what limits the input pipeline, as headroom.data() does."""
        return answers.data(self, changes, **flags)

    def slice(self, output: Path, **flags: Any) -> pathlib.Path:
        """Writes a part of the trace to a file, as headroom.slice() does."""
        return answers.slice(self, output, **flags)

    def show(self, *, height: int = 720, **flags: Any) -> Page:
        """Returns the page of the trace, which a notebook shows in a frame, as headroom.page() does."""
        return page(self, height=height, **flags)

    @cached_property
    def tables(self) -> TablesOfTrace:
        """The tables of `headroom query` as numpy columns, without copies: `trace.tables.gpu_tasks.start_ns`."""
        with needed_by("Tables"):
            from headroom.tables import Tables
        return Tables(self._engine)  # type: ignore[return-value]

    def query(self, sql: str, *, timeout_s: float = 60, memory_mb: int = 2048) -> QueryResult:
        """Returns the rows of one SQL statement over the trace's tables and the views of docs/tables.md.

        timeout_s, memory_mb: limits of time and memory; 0: no limit. Raises RuntimeError if one is exceeded. Raises
        ValueError, with the position, for invalid SQL or an unknown name. Runs without the GIL; Ctrl-C interrupts it.
        """
        with needed_by("QueryResult"):
            from headroom.query_result import QueryResult
        return QueryResult(self._engine.query(sql, timeout_s, memory_mb))

    def Graph(self, **options: Any) -> GraphType:  # noqa: N802, as headroom.Graph
        """Returns the job of this trace as an editable graph; options as for headroom.Graph."""
        with needed_by("Graph"):
            from headroom.graph import Graph
        return Graph(self, **options)

    def __repr__(self) -> str:
        return f"headroom.Trace({self.path!r})"


def names_of(scenarios: Iterable[str]) -> list[str]:
    """Returns a list, also for a single name: iterating a str would give one scenario per letter."""
    return [scenarios] if isinstance(scenarios, str) else list(scenarios)
