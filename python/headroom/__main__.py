"""The program `headroom`, from an installation by pip or as `python -m headroom`: runs the one that lies beside this
module.
"""
from __future__ import annotations

import os
import pathlib
import sys


def find_program() -> pathlib.Path | None:
    """The program of the same installation: pip's, a build folder's, a prefix's. None: it was not built."""
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
            "headroom: this is the Python module alone; the program was not built with it, for want of cmake or of a "
            "library (docs/dependencies.md; pip install -v . says of which). Measuring works: import headroom",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    os.execv(program, ["headroom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
