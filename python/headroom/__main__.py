"""Runs the program `headroom` of this installation. pip's script and `python -m headroom` both start it here."""
from __future__ import annotations

import os
import pathlib
import sys


def find_program() -> pathlib.Path | None:
    """Returns the path of the program in this installation: pip's, a build folder's or a prefix's. Returns None if the
    program was not built.
    """
    package = pathlib.Path(__file__).resolve().parent
    above = package.parent.parent  # A build folder, or lib/headroom of a prefix.
    for place in (package / "_program", above, above.parent.parent / "bin"):
        program = place / "headroom"
        if program.is_file() and os.access(program, os.X_OK):
            return program
    return None


def main() -> int:
    program = find_program()
    if program is None:
        print(
            "headroom: only the Python module is installed; the program was not built because cmake or a "
            "library is missing (docs/dependencies.md; pip install -v . names it). Measuring works: import headroom",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    os.execv(program, ["headroom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
