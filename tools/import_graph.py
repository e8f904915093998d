"""Finds the imports between the modules of a Python package, for tools/check_python.

Imports inside functions and under TYPE_CHECKING count too: they hide a cycle but do not undo it.
"""

import ast
import pathlib
from typing import Dict, Iterator, Optional, Tuple

from cycles import first_cycle


def imported_names(tree: ast.AST, package: Tuple[str, ...]) -> Iterator[Tuple[int, str]]:
    """Yields (line, full name) of each import in a module of a package. The full name may extend a module's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def cycle_of_imports(package: pathlib.Path) -> Optional[str]:
    """Returns `file:line: what is wrong, the remedy` for the first cycle of imports in the package. None: no cycle.

    The file is relative to the folder of the package's parent. Python runs the package itself before its modules; this
    does
    not count as an import.
    """
    files = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    lines: Dict[str, Dict[str, int]] = {}  # Keyed by (module, imported module).
    for module, path in files.items():
        lines[module] = {}
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # Black reports it.
            continue
        for line, name in sorted(imported_names(tree, path.relative_to(package.parent).parent.parts)):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name:
                lines[module].setdefault(name, line)

    cycle = first_cycle(lines)
    if cycle is None:
        return None
    last, first = cycle[-2:]
    return (
        f"{files[last].relative_to(package.parent)}:{lines[last][first]}: imports form a cycle: "
        f"{' -> '.join(cycle)}; move what they share into a module that imports none of them"
    )
