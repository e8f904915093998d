"""Prints python/headroom/_table_columns.pyi, which describes the columns for type checkers and editors.

    PYTHONPATH=build/release/python python3 tests/python/table_stub.py > python/headroom/_table_columns.pyi
"""
import keyword
import textwrap

import headroom
import support

_TYPES = {
    "int64": "NDArray[np.int64]",
    "int32": "NDArray[np.int32]",
    "uint32": "NDArray[np.uint32]",
    "float64": "NDArray[np.float64]",
    "bool": "NDArray[np.bool_]",
    "text": "TextColumn",
}
_HEAD = '''\
"""The columns of each table of a trace, as docs/tables.md describes them. Written by tests/python/table_stub.py."""

import numpy as np
from numpy.typing import NDArray

from headroom.arrays import NullableArray, TextColumn
from headroom.tables import Table
from headroom.tables import Tables as AllTables
'''


def type_of(column):
    return "NullableArray" if column.nullable and column.type != "text" else _TYPES[column.type]


def class_of(name):
    return "".join(word.capitalize() for word in name.split("_"))


def docstring(text):
    """Returns `text` as a docstring of an attribute, in lines of at most 120 columns."""
    return "\n".join(textwrap.wrap(f'"""{text}"""', 120, initial_indent="    ", subsequent_indent="    "))


def stub(tables):
    text = _HEAD
    for name, table in tables.items():
        text += f"\nclass {class_of(name)}(Table):\n"
        for column in table.columns.values():
            if keyword.iskeyword(column.name):
                continue  # Only accessible as table["class"].
            unit = f"{column.unit}. " if column.unit else ""
            refers = f" A row of {column.refers}." if column.refers else ""
            words = f" One of {', '.join(column.words)}." if column.words else ""
            text += f"    {column.name}: {type_of(column)}\n{docstring(unit + column.sentence + refers + words)}\n"
    text += "\nclass Tables(AllTables):\n"
    for name, table in tables.items():
        text += f"    {name}: {class_of(name)}\n"
    return text


if __name__ == "__main__":
    print(stub(headroom.load(support.RESNET).tables), end="")
