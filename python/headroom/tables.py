"""The tables of a trace as numpy columns: those of `headroom query`, under the same names (docs/tables.md)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple

import numpy as np

from headroom.arrays import NO_TEXT, TextColumn, Texts, Words, as_pandas, nullable, pandas

if TYPE_CHECKING:
    import headroom._engine as _engine

_TYPES = {
    "int64": "int64",
    "int32": "int32",
    "real": "float64",
    "string": "text",
    "row": "uint32",
    "label": "text",
    "flag": "bool",
}
_ID: _engine.ColumnSchema = ("id", "row", "", False, "", [], "Number of the row.")


class Column(NamedTuple):
    """Description of a column."""

    name: str
    type: str
    """int64, int32, uint32, float64, bool or text."""
    unit: str
    """Unit; empty for a plain value."""
    nullable: bool
    """True if the column can hold null: "not recorded" or "none"."""
    refers: str
    """Table whose rows (`id`) the column refers to; empty: none."""
    words: tuple[str, ...]
    """Possible values, if the column has a fixed set of words."""
    sentence: str


class Table:
    """One table. A column is an attribute, or an item if its name is a Python keyword (`gpu_attribution["class"]`).

        tasks = trace.tables.gpu_tasks
        len(tasks), list(tasks)                     # rows; names of columns
        tasks.start_ns                              # numpy array over the trace's own memory: no copy, read-only
        tasks.bytes.sum()                           # NullableArray: skips nulls
        tasks.name == "vectorized_add"              # TextColumn: a mask
        tasks.to_pandas()

    A column keeps the trace alive. All attributes are columns, except `columns` and
    `to_pandas`.
    """

    def __init__(self, engine: _engine.Trace, texts: Texts, index: int, schema: _engine.TableSchema) -> None:
        self._engine, self._texts, self._index = engine, texts, index
        self._name, self._sentence, self._computed, self._rows, columns = schema
        self._kinds = {name: (place, kind) for place, (name, kind, *_) in enumerate(columns)}
        self._columns = {
            name: Column(name, _TYPES[kind], unit, null, refers, tuple(word for word in words if word), sentence)
            for name, kind, unit, null, refers, words, sentence in (_ID, *columns)
        }
        self._words = {name: Words(words) for name, _, _, _, _, words, _ in columns if words}
        self._made: dict[str, Any] = {}

    @property
    def columns(self) -> Mapping[str, Column]:
        """Descriptions of the columns, by name."""
        return dict(self._columns)

    def __len__(self) -> int:
        """Number of rows. Computes a computed table."""
        if self._rows is None:
            self._rows = self._engine.table_rows(self._index)
        return self._rows

    def __bool__(self) -> bool:
        return True  # A table without rows is true as well.

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the columns."""
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Any:
        """Returns a column by its name."""
        if name not in self._columns:
            raise KeyError(f"{self._name} has no column {name!r}; its columns are {', '.join(self._columns)}")
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    if not TYPE_CHECKING:  # Type checkers read the columns from _table_columns.pyi.

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            if name not in self._columns:
                raise AttributeError(f"{self._name} has no column {name!r}; its columns are {', '.join(self._columns)}")
            return self[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self._columns if name.isidentifier())})

    def to_pandas(self, columns: Iterable[str] | None = None) -> Any:
        """Returns a new DataFrame with `id` as the index, with all or only the named columns. Text is Categorical;
        nullable integers are Int64, Int32 or UInt32.
        """
        pd = pandas()
        names = (
            [name for name in self if name != "id"]
            if columns is None
            else [columns]
            if isinstance(columns, str)
            else list(columns)
        )
        return pd.DataFrame({name: as_pandas(self[name]) for name in names}, index=pd.RangeIndex(len(self), name="id"))

    def __repr__(self) -> str:
        head = f"<headroom.Table {self._name}: {self._said()}. {self._sentence}"
        width, types = max(map(len, self._columns)), {
            c.name: f"{c.type}, null" if c.nullable else c.type for c in self._columns.values()
        }
        return (
            "\n".join(
                [
                    head,
                    *(
                        f"  {c.name:{width}}  {types[c.name]:13}  {c.unit:8}  {c.sentence}".rstrip()
                        for c in self._columns.values()
                    ),
                ]
            )
            + ">"
        )

    def _said(self) -> str:
        return "computed at first use" if self._rows is None else f"{self._rows:,} row{'' if self._rows == 1 else 's'}"

    def _make(self, name: str) -> Any:
        if name == "id":
            ids = np.arange(len(self), dtype=np.uint32)
            ids.flags.writeable = False
            return ids
        place, kind = self._kinds[name]
        values = self._engine.table_column(self._index, place)
        can_be_null = self._columns[name].nullable
        if kind == "string":
            return TextColumn(values, self._texts, NO_TEXT if can_be_null else None)
        if kind == "label":
            return TextColumn(values, self._words[name], self._words[name].null_code)
        if not can_be_null:
            return values
        unknown = values.dtype.type(NO_TEXT) if kind == "row" else np.iinfo(values.dtype).min
        return nullable(values, values == unknown, unknown)


class Tables(Mapping[str, Table]):
    """All tables of a trace, by name: `trace.tables.gpu_tasks` or `trace.tables["gpu_tasks"]`."""

    def __init__(self, engine: _engine.Trace) -> None:
        texts = Texts(engine)
        self._path = engine.path
        self._tables = {
            schema[0]: Table(engine, texts, index, schema) for index, schema in enumerate(engine.table_schemas())
        }

    def __getitem__(self, name: str) -> Table:
        if name not in self._tables:
            raise KeyError(f"no table {name!r}; the tables are {', '.join(self._tables)}")
        return self._tables[name]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Table:
            if name.startswith("_"):
                raise AttributeError(name)
            if name not in self._tables:
                raise AttributeError(f"no table {name!r}; the tables are {', '.join(self._tables)}")
            return self._tables[name]

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._tables})

    def __repr__(self) -> str:
        lines = [f"<headroom.Tables of {self._path!r}"]
        for name, table in self._tables.items():
            lines.append(f"  {name}: {table._said()}")
            lines += textwrap.wrap(", ".join(table), 110, initial_indent=" " * 6, subsequent_indent=" " * 6)
        return "\n".join(lines) + ">"
