"""A trace file in memory."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Iterable, Union

import headroom._engine as _engine

if TYPE_CHECKING:
    from headroom._table_columns import Tables as TablesOfTrace
    from headroom.graph import Graph as GraphType
    from headroom.query_result import QueryResult

Path = Union[str, "os.PathLike[str]"]


class Trace:
    """A trace file, read once. Never changes; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._engine = _engine.Trace(os.fspath(path))

    @property
    def path(self) -> str:
        """As given."""
        return self._engine.path

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
        """As headroom.report()."""
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
        """As headroom.whatif()."""
        forecasts: dict[str, Any] = json.loads(record(self, **options).whatif_json(names_of(scenarios)))
        return forecasts

    @cached_property
    def tables(self) -> TablesOfTrace:
        """The tables of `headroom query` as numpy columns, without copies: `trace.tables.gpu_tasks.start_ns`."""
        from headroom import Tables  # By the package, which says what is missing where numpy is.

        return Tables(self._engine)  # type: ignore[return-value]

    def query(self, sql: str, *, timeout_s: float = 60, memory_mb: int = 2048) -> QueryResult:
        """The rows of one statement of SQL on these tables and the views of docs/tables.md.

        timeout_s, memory_mb: what it may take at most, 0 any; RuntimeError beyond. ValueError, with the place: it is no
        SQL, or names what is not there. Runs without the GIL; Ctrl-C ends it.
        """
        from headroom import QueryResult

        return QueryResult(self._engine.query(sql, timeout_s, memory_mb))

    def Graph(self, **options: Any) -> GraphType:  # noqa: N802, as headroom.Graph
        """The job of this trace, ready for edits; options as of headroom.Graph."""
        from headroom import Graph

        return Graph(self, **options)

    def __repr__(self) -> str:
        return f"headroom.Trace({self.path!r})"


def record(
    trace: Trace,
    *,
    steps: tuple[int, int] | None = None,
    step_marker: str = "",
    measured_step_ms: float | None = None,
    calibration: Path = "",
    local_state: bool = True,
) -> _engine.Recording:
    """The job of a trace; options as Graph documents them."""
    return _engine.Recording(
        trace._engine,
        steps=steps,
        step_marker=step_marker,
        measured_step_ms=measured_step_ms,
        calibration=os.fspath(calibration),
        local_state=local_state,
    )


def names_of(scenarios: Iterable[str]) -> list[str]:
    """A list, also of a single name: a str would be one scenario a letter."""
    return [scenarios] if isinstance(scenarios, str) else list(scenarios)
