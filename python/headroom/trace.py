"""A trace file and its analyses."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Iterable

from headroom._requirements import needed_by
from headroom._trace_file import Path, TraceFile, record

if TYPE_CHECKING:
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
    ) -> dict[str, Any]:
        """Returns the report, as headroom.report() does."""
        report: dict[str, Any] = json.loads(
            self._engine.report_json(
                steps=steps,
                step_marker=step_marker,
                rank=rank,
                measured_step_ms=measured_step_ms,
                calibration=os.fspath(calibration),
                local_state=local_state,
            )
        )
        return report

    def whatif(self, scenarios: Iterable[str] = (), **options: Any) -> dict[str, Any]:
        """Returns forecasts, as headroom.whatif() does."""
        forecasts: dict[str, Any] = json.loads(record(self, **options).whatif_json(names_of(scenarios)))
        return forecasts

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
