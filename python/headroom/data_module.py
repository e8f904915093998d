"""The type of the module headroom.data, which is also callable."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    from headroom.answers import Traces
    from headroom.results import Loading


class DataModule(types.ModuleType):
    """`headroom.data(trace)` analyses a recording; `headroom.data.bench(loader)` measures a loader."""

    def __call__(self, trace: Traces, changes: str | Sequence[str] = (), **flags: Any) -> Loading:
        """Returns what limits the input pipeline; see headroom.answers.data."""
        from headroom.answers import data

        return data(trace, changes, **flags)

    if TYPE_CHECKING:

        @staticmethod
        def bench(
            source: Any, workers: Sequence[int] = (0, 1, 2, 4), seconds: float = 3.0, seed: int = 0
        ) -> dict[str, Any]:
            ...

        @staticmethod
        def to_text(result: dict[str, Any]) -> str:
            ...
