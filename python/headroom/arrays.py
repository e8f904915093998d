"""Columns of a trace that an array of numbers cannot hold: text, and numbers that may be null.

Both kinds are read-only views of the trace's memory, without a copy. As in SQL, null matches no comparison: a mask made
by ==, <, isin() and the like is False there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import headroom._engine as _engine

    MaskedArray = np.ma.MaskedArray[Any, Any]
else:
    MaskedArray = np.ma.MaskedArray

NO_TEXT = 0xFFFFFFFF
"""Code of null in a text column."""


_filled: Callable[..., Any] = np.ma.filled  # numpy has no type annotation for it.


class NullableArray(MaskedArray):
    """Numbers with a mask of nulls: a numpy masked array whose comparisons return plain masks.

    `.data` is a view of the trace's numbers, without a copy; `.mask` is True for nulls. A null holds the most negative
    number in `.data`, or the largest in a column of row numbers. sum(), mean(), max() and arithmetic skip nulls.
    `.compressed()` returns the values that are not null; `.filled(0)` replaces nulls. For a null, == and != are both
    False.
    """

    def __eq__(self, other: Any) -> Any:
        return _filled(super().__eq__(other), False)  # type: ignore[no-untyped-call]

    def __ne__(self, other: Any) -> Any:
        return _filled(super().__ne__(other), False)  # type: ignore[no-untyped-call]

    def __lt__(self, other: Any) -> Any:
        return _filled(super().__lt__(other), False)

    def __le__(self, other: Any) -> Any:
        return _filled(super().__le__(other), False)

    def __gt__(self, other: Any) -> Any:
        return _filled(super().__gt__(other), False)

    def __ge__(self, other: Any) -> Any:
        return _filled(super().__ge__(other), False)

    __hash__ = None  # type: ignore[assignment]


def nullable(values: NDArray[Any], mask: NDArray[np.bool_], unknown: Any) -> NullableArray:
    """Returns `values` masked by `mask`, both as views. filled() inserts `unknown`."""
    mask.flags.writeable = False
    array = NullableArray(values, mask=mask, copy=False)  # type: ignore[no-untyped-call]
    array.fill_value = unknown
    return array


class Texts(Sequence[str]):
    """The distinct strings of a trace, which `TextColumn.codes` index. A string is decoded when it is accessed."""

    def __init__(self, engine: _engine.Trace) -> None:
        self._engine = engine

    def __len__(self) -> int:
        return self._engine.texts

    @overload
    def __getitem__(self, index: int) -> str:
        ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]:
        ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        at = range(len(self))[index]  # Raises IndexError, as a list does.
        return self.take(np.array([at]))[0]

    def take(self, codes: NDArray[Any]) -> list[str]:
        """Returns the strings of these codes."""
        return self._engine.texts_of(codes.astype(np.uint32))

    def code_of(self, text: str) -> int | None:
        """Returns the code of a string; None: the trace does not contain it."""
        try:
            return self._engine.id_of_text(text.encode())
        except UnicodeEncodeError:
            return None  # An unpaired surrogate, which no string of a trace contains.

    def __repr__(self) -> str:
        return f"<headroom.Texts: {len(self):,} texts>"


class Words(Sequence[str]):
    """The words that a column can contain, by code."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self.null_code = self._words.index("") if "" in self._words else None

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> str:
        ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]:
        ...

    def __getitem__(self, index: Any) -> Any:
        return self._words[index]

    def take(self, codes: NDArray[Any]) -> list[str]:
        """Returns the words of these codes."""
        return [self._words[code] for code in codes]

    def code_of(self, text: str) -> int | None:
        """Returns the code of a word; None: unknown word. The empty word stands for null."""
        return self._words.index(text) if text and text in self._words else None

    def __repr__(self) -> str:
        return repr(self._words)


class TextColumn:
    """A column of text: `codes[row]` is the index of the row's string in `categories`.

        kernels = trace.tables.gpu_tasks
        kernels.duration_ns[kernels.name.contains("gemm")].sum()
        kernels.name == "ampere_sgemm_128x64_tn"        # a mask
        kernels.name[0], kernels.name.to_numpy()        # str, or None for null

    codes: uint8 or uint32, without a copy. All text columns share the strings of the trace, so equal codes mean equal
    strings
    categories: a sequence of str, decoded on access; invalid UTF-8 becomes U+FFFD
    """

    def __init__(self, codes: NDArray[Any], categories: Texts | Words, null_code: int | None) -> None:
        self.codes = codes
        self.categories = categories
        self._null_code = null_code
        self._strings: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> str | None:
        ...

    @overload
    def __getitem__(self, rows: slice | NDArray[Any]) -> TextColumn:
        ...

    def __getitem__(self, rows: Any) -> Any:
        """Returns the text of a row, or None; for a slice, a mask or an array of rows, a column."""
        codes = self.codes[rows]
        if np.ndim(codes):
            return TextColumn(codes, self.categories, self._null_code)
        return None if codes == self._null_code else self.categories[int(codes)]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.to_numpy().tolist())

    @property
    def valid(self) -> NDArray[np.bool_]:
        """A mask: True for each row that is not null."""
        if self._null_code is None:
            return np.ones(len(self), bool)
        valid: NDArray[np.bool_] = self.codes != self._null_code
        return valid

    def unique(self) -> list[str]:
        """The distinct strings of the column, in the order of their codes."""
        return self.categories.take(self._present())

    def to_numpy(self) -> NDArray[np.object_]:
        """Returns an array of str with one object per distinct string, and None for null. Cached."""
        if self._strings is None:
            present = self._present()
            by_code = np.full(len(self.categories) + 1, None, dtype=object)
            by_code[present] = self.categories.take(present)
            strings = by_code[self._bounded()]
            strings.flags.writeable = False
            self._strings = strings
        return self._strings

    def __array__(self, dtype: Any = None) -> NDArray[Any]:
        return self.to_numpy() if dtype is None else self.to_numpy().astype(dtype)

    def isin(self, texts: Iterable[str]) -> NDArray[np.bool_]:
        """Returns a mask of the rows whose string is one of these."""
        if isinstance(texts, str):
            texts = [texts]
        codes = [self.categories.code_of(text) for text in texts]
        return self._rows_of([code for code in codes if code is not None])

    def contains(self, pattern: str | re.Pattern[str]) -> NDArray[np.bool_]:
        """Returns a mask of the rows whose string matches a regular expression of Python anywhere. Searches each
        distinct string once.
        """
        search = re.compile(pattern).search
        present = self._present()
        return self._rows_of([code for code, text in zip(present, self.categories.take(present)) if search(text)])

    def __eq__(self, other: object) -> Any:
        """Returns a mask of the rows with this string, or with the same string as another column of the trace."""
        if isinstance(other, str):
            code = self.categories.code_of(other)
            return np.zeros(len(self), bool) if code is None else self.codes == code
        if isinstance(other, TextColumn) and len(self) == len(other):
            if self._texts_of_trace() is not None and self._texts_of_trace() is other._texts_of_trace():
                return (self.codes == other.codes) & self.valid
            return (self.to_numpy() == other.to_numpy()) & self.valid
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return NotImplemented
        return ~equal & self.valid & (other.valid if isinstance(other, TextColumn) else True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        present = self._present()
        shown = ", ".join(
            repr(text if len(text) <= 60 else text[:59] + "…") for text in self.categories.take(present[:4])
        )
        return (
            f"<headroom.TextColumn: {len(self):,} row{'' if len(self) == 1 else 's'}, {len(present):,} "
            f"text{'' if len(present) == 1 else 's'}{': ' if shown else ''}{shown}"
            f"{', ...' if len(present) > 4 else ''}>"
        )

    def dense(self) -> tuple[NDArray[np.int32], list[str]]:
        """Returns (codes, strings) of this column alone: consecutive codes from 0; -1 for null."""
        present = self._present()
        texts = self.categories.take(present)
        number: dict[str, int] = {}  # Distinct strings with invalid UTF-8 may decode to equal ones.
        numbers = [number.setdefault(text, len(number)) for text in texts]
        by_code = np.full(len(self.categories) + 1, -1, dtype=np.int32)
        by_code[present] = numbers
        return by_code[self._bounded()], list(number)

    def _texts_of_trace(self) -> Any:
        return self.categories._engine if isinstance(self.categories, Texts) else None

    def _bounded(self) -> NDArray[Any]:
        """The codes, with len(categories) for null."""
        return np.where(self.valid, self.codes, len(self.categories))

    def _rows_of(self, codes: Sequence[int]) -> NDArray[np.bool_]:
        wanted = np.zeros(len(self.categories) + 1, bool)
        wanted[list(codes)] = True
        rows: NDArray[np.bool_] = wanted[self._bounded()]
        return rows

    def _present(self) -> NDArray[np.int64]:
        seen = np.zeros(len(self.categories) + 1, bool)
        seen[self._bounded()] = True
        return np.flatnonzero(seen[:-1])


def pandas() -> Any:
    """Returns the module pandas. Raises an ImportError that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() requires pandas: apt install python3-pandas, or pip install pandas") from error
    return pandas


def as_pandas(column: Any) -> Any:
    """Returns a column for a DataFrame: text becomes Categorical, nullable integers Int64 and the like, nullable reals
    NaN.
    """
    pd = pandas()
    if isinstance(column, TextColumn):
        codes, texts = column.dense()
        return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))
    if isinstance(column, NullableArray):
        if column.dtype.kind == "f":
            return _filled(column, np.nan)
        return pd.arrays.IntegerArray(_filled(column, 0), column.mask.copy())
    return column
