"""Samples of the main thread's stack under `headroom record`. Private.

They say what a program does in the time that no region covers. python/src/stacks.c takes them.
"""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
from types import CodeType, FrameType
from typing import Any, Callable, Optional

from headroom import _timer

OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def short_path(path: str) -> str:
    """Returns the path of a source file without the folders that differ between machines.

    Keeps site-packages/ and python3.N/, which tell the files of libraries from the program's own.
    """
    for packages in ("site-packages", "dist-packages"):
        at = path.rfind(f"{os.sep}{packages}{os.sep}")
        if at >= 0:
            return path[at + 1 :]
    if path.startswith(LIBRARY):
        return os.path.basename(LIBRARY[:-1]) + path[len(LIBRARY) - 1 :]
    folders = [os.path.abspath(entry) + os.sep for entry in (*sys.path, os.curdir)]
    inside = max((folder for folder in folders if path.startswith(folder)), key=len, default="")
    if inside:
        return path[len(inside) :]
    return os.sep.join(path.split(os.sep)[-2:])


def name_of(code: CodeType, line: int) -> Optional[str]:
    """Returns "file.py(12): function" of a frame, "import" inside the import system, None for Headroom's own code."""
    path = code.co_filename
    if path.startswith(OWN_FOLDER):
        return None
    if path.startswith("<frozen importlib"):
        return "import"
    function = getattr(code, "co_qualname", code.co_name)
    name = f"{short_path(os.path.abspath(path)) if path[:1] != '<' else path}({line}): {function}"
    return name.replace(";", ",").replace("\n", " ")


def _nothing(number: int, frame: Optional[FrameType]) -> None:
    """Handles the signal that python/src/stacks.c sends."""


def _free_signal() -> int:
    """Returns a signal that the program does not use, after setting its handler; 0 if Python needs none."""
    if sys.version_info >= (3, 13):
        return 0
    for number in range(signal.SIGRTMAX - 5, signal.SIGRTMIN, -1):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _nothing)
            signal.siginterrupt(number, False)
            return number
    return 0


_signal = 0


def start() -> None:
    """Samples this process and its forked children from now on, at the rate of `headroom record --stack-hz`."""
    global _signal
    if not _hz() or not _timer.recorded():
        return
    _signal = _free_signal()
    if not _sample():
        return
    atexit.register(_timer.stop_stacks)
    os.register_at_fork(after_in_child=_in_child)
    for name in ("execv", "execve"):  # The other functions of os call them.
        setattr(os, name, _without_samples(getattr(os, name)))


def _without_samples(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns os.execv() or os.execve() that stops to sample first: a pending signal would end the new program."""

    @functools.wraps(execute)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _timer.stop_stacks()
        try:
            return execute(*args, **kwargs)
        finally:
            _sample()  # It failed.

    return wrapper


def _hz() -> float:
    hz = float(os.environ.get("HEADROOM_STACK_HZ") or 0)
    return hz if hz >= 0.01 else 0.0


def _sample() -> bool:
    return _timer.sample_stacks(_hz(), name_of, _signal)


def _in_child() -> None:
    _sample()
