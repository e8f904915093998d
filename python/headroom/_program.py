"""Runs the program `headroom` of this installation and returns its JSON. Private; used by the functions of the
package.
"""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Iterator, Mapping, Sequence

from headroom._errors import TraceError

_GATE, _USAGE, _BAD_INPUT = 1, 2, 3  # Exit codes (docs/commands.md).


def program() -> str:
    """Returns the path of the program. Raises ImportError if this installation has none."""
    from headroom.__main__ import find_program

    found = find_program()
    if found is None:
        raise ImportError(
            "this installation has only the Python module; install a wheel that includes the `headroom` program "
            "(docs/install.md)"
        )
    return str(found)


def flags_of(options: Mapping[str, Any]) -> list[str]:
    """Returns flags of the command line: `batch_size=8` is `--batch-size 8`, `full=True` is `--full`, a pair of numbers
    is A:B, and a list repeats its flag. None and False leave a flag out. `with_` is `--with`: Python reserves the word.
    """
    flags = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, tuple) and len(value) == 2 and all(isinstance(one, numbers.Real) for one in value):
            flags += [flag, f"{_word(value[0])}:{_word(value[1])}"]
        elif isinstance(value, (list, tuple)):
            for one in value:
                flags += [flag, _word(one)]
        else:
            flags += [flag, _word(value)]
    return flags


def _word(value: Any) -> str:
    """Returns a value as a word of the command line: 1e5 is 100000."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return os.fspath(value) if isinstance(value, (str, os.PathLike)) else str(value)


def run(command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """Returns what a command writes to stdout.

    Raises ValueError for wrong arguments, TraceError for an unreadable file, RuntimeError for any other failure; with
    the message of the command line. A failed gate (exit code 1) is a result.
    """
    done = subprocess.run(
        # "--" would end the flags of `record` and `ops`; a file whose name begins with a dash is given as ./-name.
        [
            program(),
            command,
            *("./" + word if word.startswith("-") else word for word in arguments),
            *flags_of(options),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode == 0 or (command == "diff" and done.returncode == _GATE):
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if not line.startswith("See headroom ")]
    message = "\n".join(lines)
    message = message[message.rfind("headroom: ") + len("headroom: ") :] if "headroom: " in message else message
    kind = {_USAGE: ValueError, _BAD_INPUT: TraceError}.get(done.returncode, RuntimeError)
    raise kind(message or f"headroom {command} failed with exit code {done.returncode}")


def ask(command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the object that `headroom COMMAND --json` prints."""
    for name in ("json", "output", "help", "full", "md"):
        if name in options:
            raise ValueError(f"{name}: not supported here, because the result is always a dict; remove it")
    answer: dict[str, Any] = json.loads(run(command, arguments, {**options, "json": True, "quiet": True}))
    return answer


def paths_of(traces: Any) -> list[str]:
    """Returns the paths of one trace, or of a list of traces."""
    if isinstance(traces, (str, os.PathLike)):
        return [os.fspath(traces)]
    if hasattr(traces, "_absolute"):  # A headroom.Trace.
        return [traces._absolute]
    if isinstance(traces, (bytes, int)) or not hasattr(traces, "__iter__"):
        raise TypeError(f"requires a path, a loaded trace or a list of them, not {type(traces).__name__}")
    return [path for trace in traces for path in paths_of(trace)]


@contextlib.contextmanager
def as_file(table: Any) -> Iterator[str | None]:
    """Yields the path itself, the path of a temporary CSV file for a DataFrame, or None for None."""
    if table is None or isinstance(table, (str, os.PathLike)):
        yield None if table is None else os.fspath(table)
        return
    if not hasattr(table, "to_csv"):
        raise TypeError(f"requires a path or a pandas DataFrame, not {type(table).__name__}")
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        file = pathlib.Path(folder) / "table.csv"
        table.to_csv(file, index=False)
        yield str(file)
