"""The web page of a trace as one HTML file, for notebooks and experiment trackers."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
from typing import Any

from headroom import _program

__all__ = ["Page", "page"]


class Page:
    """The page of `headroom report --html`: one file that loads nothing. A notebook shows it in a frame."""

    def __init__(self, text: str, height: int = 720) -> None:
        self.text = text
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the page to a file and returns its path."""
        file = pathlib.Path(path)
        file.write_text(self.text, encoding="utf-8")
        return file

    def __repr__(self) -> str:
        return f"<headroom.Page of {len(self.text):,} characters; .save('page.html') writes it>"

    def _repr_html_(self) -> str:
        # The iframe isolates the page's styles and scripts from the notebook's.
        return (
            f'<iframe srcdoc="{html.escape(self.text)}" style="width:100%;height:{self.height}px;border:0" '
            'sandbox="allow-scripts allow-downloads allow-popups" title="Headroom"></iframe>'
        )


def page(trace: Any, *, height: int = 720, **flags: Any) -> Page:
    """Returns the page of a trace.

    trace: a path or a loaded trace; height: of the frame in a notebook, in pixels; further keywords: flags of
    `headroom report`
    """
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        file = pathlib.Path(folder) / "page.html"
        _program.run("report", _program.paths_of(trace), {"html": file, "quiet": True, **flags})
        return Page(file.read_text(encoding="utf-8"), height)
