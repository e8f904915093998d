"""Checks for the requirements of optional parts of the package: the engine and numpy. Private."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator


@contextlib.contextmanager
def needed_by(name: str) -> Iterator[None]:
    """Wraps the imports that `headroom.<name>` requires. Raises ImportError with the remedy if the engine or numpy is
    missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        python = f"this Python ({sys.version.split()[0]})"
        if error.name == "headroom._engine":
            raise ImportError(
                f"headroom.{name} requires the engine, which this installation lacks; measuring works without it. "
                "Install a wheel that includes the `headroom` program (docs/install.md)"
            ) from error
        if error.name == "numpy":
            raise ImportError(
                f"headroom.{name} requires numpy, which {python} does not have; measuring works without it. "
                "Install it: apt install python3-numpy (Debian's Python), or pip install numpy"
            ) from error
        raise
