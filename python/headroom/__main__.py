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
        if program.is_file() and os.access(program, os.X_OK) and not _is_script(program):
            return program
    return None


def _is_script(program: pathlib.Path) -> bool:
    """Returns true for a script, such as pip's `bin/headroom`, which would start this module again, and so on."""
    with program.open("rb") as file:
        return file.read(2) == b"#!"


def main() -> int:
    program = find_program()
    if program is None:
        print(
            "headroom: this installation has no program, only the Python module: it was built with "
            "HEADROOM_TIMERS_ONLY=1, or the folder of the module was copied without it. Install a wheel that bundles "
            "the program (docs/install.md). Measuring works: import headroom",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    os.execv(program, ["headroom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
