"""A trace file in memory and its recorded job. Private: the public interface is `headroom.Trace`."""

from __future__ import annotations

import os
from typing import Union

import headroom._engine as _engine

Path = Union[str, "os.PathLike[str]"]


class TraceFile:
    """A trace file that is read once. Immutable; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._engine = _engine.Trace(os.fspath(path))
        self._absolute = os.path.abspath(os.fspath(path))  # For programs that start after a change of the folder.

    @property
    def path(self) -> str:
        """The path as given."""
        return self._engine.path


def record(
    trace: TraceFile,
    *,
    steps: tuple[int, int] | None = None,
    step_marker: str = "",
    measured_step_ms: float | None = None,
    calibration: Path = "",
    local_state: bool = True,
) -> _engine.Recording:
    """Returns the job of a trace; options as for Graph."""
    return _engine.Recording(
        trace._engine,
        steps=steps,
        step_marker=step_marker,
        measured_step_ms=measured_step_ms,
        calibration=os.fspath(calibration),
        local_state=local_state,
    )
