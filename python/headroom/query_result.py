"""Result of an SQL statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, overload

import numpy as np

from headroom.arrays import as_pandas, nullable, pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import headroom._engine as _engine


class QueryResult:
    """The rows of a statement, as tuples and as numpy columns.

        result = trace.query("select name, sum(duration_ns) as ns from kernels group by name order by ns desc")
        result.columns                      # ("name", "ns")
        len(result), result[0]              # rows; the first as a tuple
        for name, ns in result: ...
        result["ns"]                        # a column: int64
        result.to_pandas()

    A column of integers is int64 and of reals float64 (NullableArray if there are nulls). Any other column is an array
    of objects: str, bytes, int, float, None.
    """

    def __init__(self, rows: _engine.QueryRows) -> None:
        self._rows = rows
        self._names = tuple(rows.names)
        self._made: dict[int, NDArray[Any]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, as in the statement."""
        return self._names

    def __len__(self) -> int:
        return self._rows.rows

    @overload
    def __getitem__(self, index: int) -> tuple[Any, ...]:
        ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[Any, ...]]:
        ...

    @overload
    def __getitem__(self, index: str) -> NDArray[Any]:
        ...

    def __getitem__(self, index: Any) -> Any:
        """Returns a row for a number, rows for a slice, a column for a name."""
        if isinstance(index, str):
            if self._names.count(index) != 1:
                raise KeyError(
                    f"{self._names.count(index) or 'no'} columns are named {index!r}; "
                    f"the columns are {', '.join(self._names)}"
                )
            return self._column(self._names.index(index))
        if isinstance(index, slice):
            return self._tuples(index)
        at = range(len(self))[index]  # Raises IndexError, as a list does.
        return self._tuples(slice(at, at + 1))[0]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        block = 65536  # Rows converted to Python objects at a time.
        for first in range(0, len(self), block):
            yield from self._tuples(slice(first, first + block))

    def to_pandas(self) -> Any:
        """Returns a new DataFrame. Integers with nulls are Int64."""
        pd = pandas()
        frame = pd.DataFrame(
            {i: as_pandas(self._column(i)) for i in range(len(self._names))}, index=pd.RangeIndex(len(self))
        )
        frame.columns = list(self._names)  # SQL allows duplicate names.
        return frame

    def __repr__(self) -> str:
        return (
            f"<headroom.QueryResult: {len(self):,} row{'' if len(self) == 1 else 's'} of "
            f"{', '.join(map(repr, self._names))}>"
        )

    def _column(self, index: int) -> NDArray[Any]:
        if index not in self._made:
            values, nulls = self._rows.column(index)
            unknown = np.nan if values.dtype.kind == "f" else 0
            self._made[index] = values if nulls is None else nullable(values, nulls, unknown)
        return self._made[index]

    def _tuples(self, rows: slice) -> list[tuple[Any, ...]]:
        return list(zip(*(self._column(i)[rows].tolist() for i in range(len(self._names)))))
